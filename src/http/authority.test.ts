import { assert, describe, it } from "@effect/vitest"
import { canonicalAuthority } from "./authority.ts"
import { HeaderList } from "./header-list.ts"
import { hostOf, RequestHead } from "./message.ts"

describe("authority", () => {
  it.each([
    ["Example.COM", "http", "example.com"],
    ["example.com:80", "http", "example.com"],
    ["example.com:443", "https", "example.com"],
    ["example.com:443", "http", "example.com:443"],
    ["example.com:080", "http", "example.com"],
    ["example.com:08080", "http", "example.com:8080"],
    ["127.0.0.1:3000", "http", "127.0.0.1:3000"],
    ["[::1]:3000", "http", "[::1]:3000"],
    ["[2001:DB8::1]", "https", "[2001:db8::1]"],
    ["my_service.default", "http", "my_service.default"],
    ["Example.com.", "http", "example.com"],
    ["example.com.:8080", "http", "example.com:8080"],
    ["example.com.:443", "https", "example.com"],
    ["127.0.0.1.:80", "http", "127.0.0.1"]
  ] as const)("%s over %s is %s", (raw, scheme, canonical) => {
    assert.strictEqual(canonicalAuthority(raw, scheme), canonical)
  })

  it.each([
    "",
    ":80",
    "user@example.com",
    "user:secret@example.com",
    "example.com:",
    "example.com:65536",
    "example.com:123456",
    "example.com:8x",
    "exa mple.com",
    "example.com/",
    "example.com, other.com",
    "ex%61mple.com",
    "::1",
    "[::1",
    "[::1]x",
    ".example.com",
    "example.com..",
    "example.com..:80",
    ".",
    "[::1].",
    "exämple.com"
  ])("%j is refused", (raw) => {
    assert.isUndefined(canonicalAuthority(raw, "http"))
  })

  it("canonicalising twice changes nothing", () => {
    for (const raw of ["A.b:8080", "[::1]:1", "h:80", "h.", "h.:80", "h.:81"]) {
      const once = canonicalAuthority(raw, "http")
      assert.isDefined(once)
      assert.strictEqual(canonicalAuthority(once ?? "", "http"), once)
    }
  })

  it("the host stands before the port, in brackets or not", () => {
    assert.strictEqual(hostOf("a.example:80"), "a.example")
    assert.strictEqual(hostOf("a.example"), "a.example")
    assert.strictEqual(hostOf("[::1]"), "[::1]")
    assert.strictEqual(hostOf("[::1]:80"), "[::1]")
  })

  it("path, query and URI of a request head", () => {
    const head = new RequestHead("GET", "https", "a.example:8443", "/x/../y?a=%20?b", new HeaderList())
    assert.strictEqual(head.path, "/x/../y")
    assert.strictEqual(head.query, "?a=%20?b")
    assert.strictEqual(head.uri, "https://a.example:8443/x/../y?a=%20?b")
    assert.strictEqual(head.host, "a.example")
    const plain = new RequestHead("GET", "http", "h", "/x", new HeaderList())
    assert.deepStrictEqual([plain.path, plain.query], ["/x", ""])
  })
})
