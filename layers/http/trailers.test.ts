import { assert, describe, it } from "@effect/vitest"
import { isHopByHop } from "../../src/http/framing.ts"
import { ResponseParser } from "./client/response-parser.ts"

/** RFC 9110 7.6.1, and the older names. */
const connectionHeaders = [
  "connection",
  "expect",
  "proxy-connection",
  "keep-alive",
  "proxy-authenticate",
  "te",
  "trailer",
  "upgrade"
]

const parsed = (lines: ReadonlyArray<string>, behind = "") => {
  const parser = new ResponseParser()
  parser.begin(false, false)
  const bytes = Buffer.from(`HTTP/1.1 200 OK\r\n${lines.join("\r\n")}\r\n\r\n${behind}`)
  assert.isUndefined(parser.feed(bytes, bytes.length))
  return parser
}
const headersOf = (lines: ReadonlyArray<string>) => parsed(lines).head?.headers.flat
const trailersOf = (lines: ReadonlyArray<string>) =>
  parsed(["transfer-encoding: chunked"], `0\r\n${lines.join("\r\n")}\r\n\r\n`).trailers?.flat

describe("headers of one connection", () => {
  it("are these and no others of their length", () => {
    for (const name of [...connectionHeaders, "transfer-encoding"]) {
      assert.isTrue(isHopByHop(name), name)
      assert.isFalse(isHopByHop(`x${name.slice(1)}`), name)
    }
    for (const name of ["", "tea", "host", "proxy-authorization"]) assert.isFalse(isHopByHop(name), name)
  })

  it("stay behind in a response, and in trailers", () => {
    const lines = [...connectionHeaders.map((name) => [name.toUpperCase(), "x"]), ["X-Kept", "1"]]
    assert.deepStrictEqual(headersOf(lines.map((line) => line.join(":"))), ["x-kept", "1"])
    assert.deepStrictEqual(headersOf(["transfer-encoding: chunked", "x-kept: 1"]), ["x-kept", "1"])
    assert.deepStrictEqual(trailersOf(lines.map((line) => line.join(":"))), ["x-kept", "1"])
  })

  it("take along what they nominate, but not what the message means", () => {
    const lines = ["connection: close, X-Mine, content-length", "x-mine: 1", "content-length: 3"]
    assert.deepStrictEqual(headersOf(lines), ["content-length", "3"])
  })

  it("who somebody is stands in no trailer", () => {
    const lines = [
      "Authorization: x",
      "Cookie: x",
      "X-Headgate-User: x",
      "X-Forwarded-For: x",
      "Forwarded: x",
      "X-Kept: 1"
    ]
    assert.deepStrictEqual(trailersOf(lines), ["x-kept", "1"])
  })
})
