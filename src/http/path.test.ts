import { Buffer } from "node:buffer"
import { posix } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Arbitrary, Schema } from "effect"
import { isOrdinary, octetsOf, readPath, readTarget } from "./path.ts"

const shown = (path: string): string => {
  const read = readPath(path)
  return "fault" in read ? `400 ${read.fault}` : read.other === undefined ? read.path : `${read.path} or ${read.other}`
}

const check = (cases: Readonly<Record<string, string>>) =>
  assert.deepStrictEqual(Object.fromEntries(Object.keys(cases).map((path) => [path, shown(path)])), cases)

describe("the normal form of a path", () => {
  it("decodes what need not be encoded, and writes the rest in capitals", () =>
    check({
      "/": "/",
      "/files/%70rivate/%7euser": "/files/private/~user",
      "/%41%5a%61%7a%30%39%2d%2e%5f": "/AZaz09-._",
      "/caf%c3%a9": "/caf%C3%A9",
      "/caf\u00c3\u00a9": "/caf%C3%A9",
      "/caf%e9": "/caf%E9",
      "/a%20b+c": "/a%20b+c",
      '/{a}|^`"<>': "/%7Ba%7D%7C%5E%60%22%3C%3E",
      "/100%25": "/100%25",
      "/%252e%252e/x": "/%252e%252e/x"
    }))

  it("removes dot segments, encoded ones too, and merges slashes", () =>
    check({
      "//a///b//": "/a/b/",
      "/a/./b": "/a/b",
      "/a/%2e/b/": "/a/b/",
      "/a/b/../c": "/a/c",
      "/a/b/%2E.": "/a/",
      "/a/b/.": "/a/b/",
      "/a/..": "/",
      "/../../etc/passwd": "/etc/passwd",
      "/a//../b": "/b",
      "/...": "/...",
      "/.well-known/x": "/.well-known/x",
      "/a/..b/.c.": "/a/..b/.c."
    }))

  it("keeps encoded reserved characters in their segment, and tells the other reading", () =>
    check({
      "/a%2fb": "/a%2Fb or /a/b",
      "/@scope%2Fname": "/@scope%2Fname or /@scope/name",
      "/%40scope%2Fname": "/%40scope%2Fname or /@scope/name",
      "/model/arn%3Aaws%3Abedrock%2Fx/converse":
        "/model/arn%3Aaws%3Abedrock%2Fx/converse or /model/arn:aws:bedrock/x/converse",
      "/u/https%3A%2F%2Fh%2Fx": "/u/https%3A%2F%2Fh%2Fx or /u/https:/h/x",
      "/a;b=c/d": "/a;b=c/d or /a/d",
      "/a%3Bb/d": "/a%3Bb/d or /a/d",
      "/;a/b": "/;a/b or /b",
      "/a/;b": "/a/;b or /a/",
      "/a%3fb/c": "/a%3Fb/c or /a",
      "/a/%23b": "/a/%23b or /a/",
      "/a%2f": "/a%2F or /a/",
      "/%2f%2fa": "/%2F%2Fa or /a",
      "/a%2Bb%20c": "/a%2Bb%20c or /a+b%20c"
    }))

  it("has none for what nobody can read in one way", () =>
    check({
      "/a%00": "400 NUL in the path",
      "/a\\b": "400 backslash in the path",
      "/a%5cb": "400 backslash in the path",
      "/a\tb": "400 control character in the path",
      "/a\x7f": "400 control character in the path",
      "/%": "400 invalid percent-encoding in the path",
      "/%4": "400 invalid percent-encoding in the path",
      "/%zz": "400 invalid percent-encoding in the path",
      "/%u002f": "400 invalid percent-encoding in the path",
      "/%c0%af": "400 overlong encoding in the path",
      "/%C1%9C": "400 overlong encoding in the path",
      "/%e0%80%af": "400 overlong encoding in the path",
      "/%f0%80%80%af": "400 overlong encoding in the path",
      "/\u00c0%ae": "400 overlong encoding in the path",
      "/x%2f..%2fprivate": "400 hidden dot segment in the path",
      "/x/..;/private": "400 hidden dot segment in the path",
      "/x/.;a=b/private": "400 hidden dot segment in the path",
      "/x/%2e%2e%3bx/private": "400 hidden dot segment in the path",
      "/x/..%3fy": "400 hidden dot segment in the path",
      "/..%2f": "400 hidden dot segment in the path",
      "/a%3f%2f..%2fprivate": "400 hidden dot segment in the path",
      "/a%23/b%2f..": "400 hidden dot segment in the path",
      "/a;b%2fc/d": "400 encoded delimiter in a path parameter",
      "/a;b%3fc/d": "400 encoded delimiter in a path parameter",
      "/%3b%23/d": "400 encoded delimiter in a path parameter",
      "/a%3bb%2fc/d": "/a%3Bb%2Fc/d or /a/c/d"
    }))

  it("the query stays as it is, and what people write may hold any character", () => {
    assert.deepStrictEqual(readTarget("//a/%7e?x=//%7e/../\\%zz"), { path: "/a/~?x=//%7e/../\\%zz", other: undefined })
    assert.deepStrictEqual(readPath(octetsOf("/my caf\u00e9/\u{1f600}")), {
      path: "/my%20caf%C3%A9/%F0%9F%98%80",
      other: undefined
    })
  })
})

/** Paths that are anything but plain. */
const pieces = [
  ...["/", "//", ".", "..", "%2e", "%2E%2e", "%2f", "%2F", ";", "%3b", "a", "b", "%61", "~", "%7E", "+", "%2b", "@"],
  ...["%40", ":", "%3A", "%25", "%252f", "%3f", "%23", "\u00e9", "%C3%A9", "|", "{", "%20", "%5c", "\\", "%00", "%zz"]
]
const odd = Arbitrary.map(
  Arbitrary.array(Arbitrary.schema(Schema.Literals(pieces)), { maxLength: 12 }),
  (parts) => `/${parts.join("")}`
)

describe("laws of the normal form", () => {
  it.prop("it is its own normal form, with the same other reading", { path: odd }, ({ path }) => {
    const read = readPath(path)
    if (!("fault" in read)) assert.deepStrictEqual(readPath(read.path), read)
  })

  it.prop("what is ordinary is in its normal form and has no other reading", { path: odd }, ({ path }) => {
    if (isOrdinary(path)) assert.deepStrictEqual(readPath(path), { path, other: undefined })
  })

  it.prop("a URL parser changes nothing of it", { path: odd }, ({ path }) => {
    const read = readPath(path)
    if (!("fault" in read)) assert.strictEqual(new URL(`http://h${read.path}`).pathname, read.path)
  })

  it.prop("a file server reads the same in it as in what was sent", { path: odd }, ({ path }) => {
    const read = readPath(path)
    if ("fault" in read) return
    // A file server decodes slashes last, or never.
    const octets = (text: string) => {
      const plain = Buffer.from(text, "latin1")
        .toString("latin1")
        .replace(/%(?!2f|25|3b|3f|23)([0-9a-f]{2})/gi, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16)))
      // RFC 3986 5.2.4: of dots at the end the slash before them stays.
      return posix.normalize(/\/\.\.?$/.test(plain) ? `${plain}/` : plain)
    }
    assert.strictEqual(octets("/%40/."), octets("/@/"))
    assert.strictEqual(octets(read.path).toLowerCase(), octets(path).toLowerCase())
  })
})
