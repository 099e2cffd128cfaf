import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import {
  decodeBatch,
  decodeMessage,
  errorMessage,
  errorOf,
  idKey,
  idText,
  isBatch,
  isNotJsonRpc,
  type NotJsonRpc,
  type RpcError,
  type RpcMessage,
  type RpcRequest,
  type RpcResponse,
  resultMessage,
  withId
} from "./envelope.ts"

const decode = (message: unknown) => decodeMessage(typeof message === "string" ? message : JSON.stringify(message))
const kindOf = (decoded: RpcMessage | NotJsonRpc) => (isNotJsonRpc(decoded) ? decoded.message : decoded.kind)

describe("JSON-RPC envelope", () => {
  it("tells the four kinds of messages apart", () => {
    assert.strictEqual(kindOf(decode({ jsonrpc: "2.0", id: 1, method: "a" })), "request")
    assert.strictEqual(kindOf(decode({ jsonrpc: "2.0", method: "a", params: {} })), "notification")
    assert.strictEqual(kindOf(decode({ jsonrpc: "2.0", id: "x", result: null })), "response")
    assert.strictEqual(kindOf(decode({ jsonrpc: "2.0", id: "x", error: {} })), "error")
    assert.strictEqual(kindOf(decode({ jsonrpc: "2.0", id: null, error: {} })), "error")
    assert.strictEqual(kindOf(decode({ jsonrpc: "2.0", error: {} })), "error")
  })

  it("refuses what is none of them, and says why", () => {
    const table: ReadonlyArray<readonly [unknown, RegExp]> = [
      ["", /object/],
      ["1", /object/],
      ["[]", /object/],
      [{ id: 1, method: "a" }, /jsonrpc/],
      [{ jsonrpc: "1.0", id: 1, method: "a" }, /jsonrpc/],
      [{ jsonrpc: "2.0", id: 1 }, /one of/],
      [{ jsonrpc: "2.0", id: 1, method: "a", result: {} }, /one of/],
      [{ jsonrpc: "2.0", id: 1, result: {}, error: {} }, /one of/],
      [{ jsonrpc: "2.0", id: 1, method: 7 }, /method/],
      [{ jsonrpc: "2.0", id: 1, method: "a", params: [1] }, /params/],
      [{ jsonrpc: "2.0", id: null, method: "a" }, /id/],
      [{ jsonrpc: "2.0", id: true, method: "a" }, /id/],
      [{ jsonrpc: "2.0", id: {}, result: {} }, /id/],
      ['{"jsonrpc":"2.0","id":1e999,"method":"a"}', /id/],
      ['{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/call"}', /object/]
    ]
    for (const [message, why] of table) {
      const decoded = decode(message)
      assert.isTrue(isNotJsonRpc(decoded), JSON.stringify(message))
      assert.match((decoded as NotJsonRpc).message, why)
    }
  })

  it("keeps ids of both types apart, and their digits as they were", () => {
    assert.notStrictEqual(idKey(1), idKey("1"))
    const request = decode('{"jsonrpc":"2.0","id":12345678901234567890,"method":"a"}') as RpcRequest
    assert.strictEqual(idText(request), "12345678901234567890")
    const answer = decode('{"jsonrpc":"2.0","id":12345678901234567000,"result":{}}') as RpcResponse
    assert.strictEqual(idKey(answer.id), idKey(request.id))
    assert.strictEqual(withId(answer, idText(request)).text, '{"jsonrpc":"2.0","id":12345678901234567890,"result":{}}')
  })

  it("gives an error without an id the one it belongs to", () => {
    const error = decode('{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"m"}}') as RpcError
    assert.deepStrictEqual(JSON.parse(withId(error, '"x"').text), {
      jsonrpc: "2.0",
      id: "x",
      error: { code: -32700, message: "m" }
    })
    const bare = decode('{"jsonrpc":"2.0","error":{"code":1,"message":"m"}}') as RpcError
    assert.strictEqual(JSON.parse(withId(bare, "5").text).id, 5)
    assert.deepStrictEqual(errorOf(bare), { code: 1, message: "m" })
    assert.deepStrictEqual(errorOf(decode({ jsonrpc: "2.0", error: "odd" }) as RpcError), {
      code: undefined,
      message: ""
    })
  })

  it.prop(
    "a message decoded is the text that came, whatever unknown fields it has",
    {
      extra: Schema.Record(Schema.String, Schema.Json),
      params: Schema.JsonObject,
      id: Schema.Union([Schema.String, Schema.Int])
    },
    ({ extra, params, id }) => {
      const text = JSON.stringify({
        ...extra,
        jsonrpc: "2.0",
        id,
        method: "future/method",
        params,
        result: undefined,
        error: undefined
      })
      const decoded = decodeMessage(text)
      assert.isFalse(isNotJsonRpc(decoded))
      assert.strictEqual((decoded as RpcRequest).text, text)
      assert.strictEqual(idKey((decoded as RpcRequest).id), idKey(id))
    },
    { arbitrary: { runs: 100 } }
  )

  it("reads batches element by element, within a limit", () => {
    assert.isTrue(isBatch(" \n[1]"))
    assert.isFalse(isBatch('{"a":[1]}'))
    const batch = decodeBatch('[{"jsonrpc":"2.0","method":"a"}, {"jsonrpc":"2.0"} ]', 10)
    assert.deepStrictEqual((batch as ReadonlyArray<RpcMessage | NotJsonRpc>).map(kindOf), [
      "notification",
      'one of "method", "result" and "error" must be there'
    ])
    assert.isTrue(isNotJsonRpc(decodeBatch("[]", 10)))
    assert.isTrue(isNotJsonRpc(decodeBatch("[1,2,3]", 2)))
    assert.isTrue(isNotJsonRpc(decodeBatch("[1,", 10)))
  })

  it("writes answers that it can read", () => {
    assert.strictEqual(kindOf(decodeMessage(resultMessage("1", "{}"))), "response")
    const error = decodeMessage(errorMessage('"a"', -1, "m", { d: 1 })) as RpcError
    assert.deepStrictEqual(errorOf(error), { code: -1, message: "m" })
    assert.deepStrictEqual(JSON.parse(error.text).error.data, { d: 1 })
  })
})
