import { assert, describe, it } from "@effect/vitest"
import { isHopByHop } from "../../src/http/framing.ts"
import { responseHeaders, trailerList } from "./header-lines.ts"

/** RFC 9110 7.6.1, and the older names. */
const connectionHeaders = [
  "connection",
  "expect",
  "proxy-connection",
  "keep-alive",
  "proxy-authenticate",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade"
]
const raw = (lines: ReadonlyArray<readonly [string, string]>) => lines.flat().map((text) => Buffer.from(text, "latin1"))

describe("headers of one connection", () => {
  it("are these and no others of their length", () => {
    for (const name of connectionHeaders) {
      assert.isTrue(isHopByHop(name), name)
      assert.isFalse(isHopByHop(`x${name.slice(1)}`), name)
    }
    for (const name of ["", "tea", "host", "proxy-authorization"]) assert.isFalse(isHopByHop(name), name)
  })

  it("stay behind in a response, its trailers, and where a name came twice", () => {
    const parsed = Object.fromEntries(connectionHeaders.map((name) => [name, "x"]))
    assert.deepStrictEqual(responseHeaders({ ...parsed, "x-kept": "1" }, []).flat, ["x-kept", "1"])
    const lines = [...connectionHeaders.map((name) => [name.toUpperCase(), "x"] as const), ["X-Kept", "1"] as const]
    const twice = { "set-cookie": ["a", "b"] }
    assert.deepStrictEqual(responseHeaders(twice, raw(lines)).flat, ["x-kept", "1"])
    assert.deepStrictEqual(trailerList(raw(lines))?.flat, ["x-kept", "1"])
  })

  it("take along what they nominate, but not what the message means", () => {
    const parsed = { connection: "close, X-Mine, content-length", "x-mine": "1", "content-length": "3" }
    assert.deepStrictEqual(responseHeaders(parsed, []).flat, ["content-length", "3"])
  })
})
