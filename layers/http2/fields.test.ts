import { assert, describe, it } from "@effect/vitest"
import { HeaderList } from "../../src/http/header-list.ts"
import { appendFields, forRuntime, readFields, readTrailers, trailerFields } from "./fields.ts"

describe("fields of HTTP/2", () => {
  it("come apart into pseudo-fields and lines in their order", () => {
    const read = readFields([":method", "GET", ":path", "/", "a", "1", "b", "2", "a", "3"])
    assert.deepStrictEqual(read, { pseudo: { ":method": "GET", ":path": "/" }, flat: ["a", "1", "b", "2", "a", "3"] })
  })

  it("have the crumbs of cookies joined, at the place of the first", () => {
    const read = readFields(["cookie", "a=1", "x", "y", "cookie", "b=2", "cookie", "c=3"])
    assert.deepStrictEqual(read, { pseudo: {}, flat: ["cookie", "a=1; b=2; c=3", "x", "y"] })
  })

  it("are malformed where they say what no message may", () => {
    for (const raw of [
      [":method", "GET", ":method", "GET"],
      ["a", "1", ":path", "/"],
      [":other", "x"],
      ["A", "1"],
      ["", "1"],
      ["connection", "close"],
      ["keep-alive", "x"],
      ["proxy-connection", "x"],
      ["transfer-encoding", "chunked"],
      ["upgrade", "websocket"],
      ["te", "trailers, deflate"]
    ])
      assert.isString(readFields(raw), raw.join(" "))
    assert.isObject(readFields(["te", "trailers"]))
  })

  it("are written without what is of a connection, and trimmed", () => {
    const list = [":status", "200"]
    const headers = new HeaderList([
      ...["connection", "x", "te", "trailers", "upgrade", "a", "http2-settings", "b"],
      ...["x", " y\t", "set-cookie", "a", "set-cookie", "b"]
    ])
    assert.isUndefined(appendFields(list, headers))
    assert.deepStrictEqual(list, [":status", "200", "te", "trailers", "x", "y", "set-cookie", "a", "set-cookie", "b"])
    for (const bad of [
      ["a b", "x"],
      ["a", "x\r\ny"],
      ["a", "č"],
      [":status", "200"]
    ])
      assert.deepStrictEqual(appendFields([], new HeaderList(bad)), { unsendable: bad[0] })
  })

  it("trail where they may, whatever they are called", () => {
    const trailers = new HeaderList(["grpc-status", "0", "a", "1", "a", "2", "constructor", "x", "content-length", "3"])
    assert.deepStrictEqual(Object.entries(trailerFields(trailers) ?? {}), [
      ["grpc-status", "0"],
      ["a", ["1", "2"]],
      ["constructor", "x"]
    ])
    assert.isUndefined(trailerFields(new HeaderList(["authorization", "x"])))
    assert.deepStrictEqual(readTrailers(["grpc-status", "0", "cookie", "a"])?.flat, ["grpc-status", "0"])
    assert.isUndefined(readTrailers([":status", "200", ":status", "200"]))
  })

  it("are a list for the runtime", () => {
    assert.deepStrictEqual(forRuntime([":status", "200", "a", "1"]), [":status", "200", "a", "1"])
  })
})
