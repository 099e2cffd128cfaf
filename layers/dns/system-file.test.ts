import { mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { parseHosts, parseOrder, parseResolver, SystemFile } from "./system-file.ts"

describe("a hosts file", () => {
  it("names addresses of both families, more than one of each, with comments between", () => {
    const hosts = parseHosts("# comment\n192.0.2.1\tA a.example # b\r\n\n::1 a\n192.0.2.2 a\nnonsense c\n192.0.2.3\n")
    assert.deepStrictEqual(
      [...hosts],
      [
        ["a", { v4: ["192.0.2.1", "192.0.2.2"], v6: ["::1"] }],
        ["a.example", { v4: ["192.0.2.1"], v6: [] }]
      ]
    )
  })
})

describe("a resolver file", () => {
  it("says where to search, and how patiently", () => {
    assert.deepStrictEqual(
      parseResolver("nameserver 192.0.2.1\nsearch a.example. b.example # c\noptions ndots:5 timeout:2 attempts:1 x\n"),
      { search: ["a.example", "b.example"], ndots: 5, timeout: 2000, tries: 1 }
    )
  })

  it("may say nothing; the last of several says it", () => {
    assert.deepStrictEqual(parseResolver(""), { search: [], ndots: 1, timeout: 1000, tries: 3 })
    assert.deepStrictEqual(parseResolver("domain a\nsearch b\n").search, ["b"])
    assert.strictEqual(parseResolver("options ndots:99").ndots, 15)
  })
})

describe("the order of sources", () => {
  it.each([
    ["", ["files", "dns"]],
    ["passwd: files\n", ["files", "dns"]],
    ["hosts: files dns\n", ["files", "dns"]],
    ["hosts:\tdns files\n", ["dns", "files"]],
    ["hosts: files mdns4_minimal [NOTFOUND=return] dns myhostname\n", ["files", "dns"]],
    ["hosts: files [NOTFOUND=return] dns\n", ["files only", "dns"]],
    ["hosts: dns [!UNAVAIL=return] files\n", ["dns only", "files"]],
    ["hosts: dns [SUCCESS=return] files\n", ["dns", "files"]],
    ["hosts: mymachines resolve [!UNAVAIL=return] files myhostname dns\n", ["files", "dns"]],
    ["# hosts: dns\nhosts: myhostname\n", []]
  ] as const)("%j", (text, order) => {
    assert.deepStrictEqual(
      parseOrder(text).map(({ source, decides }) => (decides ? `${source} only` : source)),
      [...order]
    )
  })
})

describe("a file of the system", () => {
  it("is read again when it was written, replaced, removed or made, and only then", () => {
    const folder = mkdtempSync(join(tmpdir(), "headgate-names-"))
    const path = join(folder, "hosts")
    let read = 0
    const file = new SystemFile(path, (text) => {
      read++
      return text
    })
    const becomes = (text: string) => {
      assert.isTrue(file.refresh())
      assert.strictEqual(file.value, text)
      const before = read
      assert.isFalse(file.refresh())
      assert.strictEqual(read, before)
    }
    assert.isFalse(file.refresh())
    writeFileSync(path, "one")
    becomes("one")
    writeFileSync(path, "other")
    becomes("other")
    writeFileSync(`${path}.new`, "third")
    renameSync(`${path}.new`, path)
    becomes("third")
    rmSync(folder, { recursive: true })
    becomes("")
  })
})
