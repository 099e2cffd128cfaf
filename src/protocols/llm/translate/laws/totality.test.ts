import { assert, describe, it } from "@effect/vitest"
import { Arbitrary, Result, Schema } from "effect"
import { type ClientFormat, clientFormats, type UpstreamFormat, upstreamFormats } from "../../formats/format.ts"
import { isObject, type JsonObject } from "../../formats/json.ts"
import type { SseEvent, UpstreamEvent } from "../../formats/stream.ts"
import type { Call } from "../codec.ts"
import { type Translator, translator } from "../translator.ts"
import { cuts, replies, upstreams } from "./replies.ts"
import { completionsRequests, messagesRequests, responsesRequests } from "./requests.ts"

const call: Call = { model: "gpt-5.6", now: 0, randomHex: (digits) => "0".repeat(digits) }

const pairs = clientFormats.flatMap((client) =>
  upstreamFormats.flatMap((upstream): ReadonlyArray<readonly [ClientFormat, UpstreamFormat, Translator]> => {
    const made = translator(client, upstream, {
      vertexClaude: true,
      maxCompletionTokens: true,
      bareEmbeddings: true,
      promptCaching: { cacheSystem: true, cacheMessages: true, cacheTools: true, minTokens: 0, cacheMessageOffset: 0 }
    })
    return Result.isSuccess(made) ? [[client, upstream, made.success]] : []
  })
)

const anyJson = Arbitrary.schema(Schema.Json)
const steps = Arbitrary.array(Arbitrary.schema(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 9 }))), {
  minLength: 1,
  maxLength: 6
})

/** Replaces one value somewhere inside. */
const corrupted = (value: unknown, [step, ...rest]: ReadonlyArray<number>, put: unknown): unknown => {
  if (step === undefined) return put
  if (Array.isArray(value) && value.length > 0) {
    const at = step % value.length
    return value.map((item: unknown, index) => (index === at ? corrupted(item, rest, put) : item))
  }
  if (!isObject(value) || Object.keys(value).length === 0) return put
  const keys = Object.keys(value)
  const key = keys[step % keys.length] ?? ""
  return { ...value, [key]: corrupted(value[key], rest, put) }
}

/** A result is a value that can be sent: no exception, nothing that is not JSON. */
const sendable = (result: Result.Result<unknown, { readonly status: number; readonly message: string }>): void => {
  if (Result.isFailure(result)) {
    assert.isTrue(result.failure.status === 400 || result.failure.status === 502)
    assert.match(result.failure.message, /^failed to process LLM (request|response): ./)
  } else assert.doesNotThrow(() => JSON.stringify(result.success))
}

const requests: { readonly [C in ClientFormat]?: Arbitrary.Arbitrary<JsonObject> } = {
  completions: completionsRequests,
  messages: messagesRequests,
  responses: responsesRequests
}

const chats = pairs.filter(([client, , made]) => made.kind === "translated" && requests[client] !== undefined)

describe("no codec throws", () => {
  it.prop(
    "on any JSON as request, answer or error, for any pair",
    [anyJson, Arbitrary.schema(Schema.Int.check(Schema.isBetween({ minimum: 400, maximum: 599 })))],
    ([json, status]) => {
      for (const [, , made] of pairs) {
        const translation = made.open(call)
        sendable(translation.request(json))
        sendable(translation.response(json))
        sendable(translation.error(status, json))
      }
    },
    { arbitrary: { runs: 60 } }
  )

  for (const [client, upstream, made] of chats) {
    const valid = requests[client]
    const source = upstreams[upstream]
    if (valid === undefined || source === undefined) continue
    it.prop(
      `on a ${client} request for ${upstream} with one wrong member`,
      [valid, steps, anyJson],
      ([body, path, put]) => {
        sendable(made.open(call).request(corrupted(body, path, put)))
      },
      { arbitrary: { runs: 60 } }
    )

    it.prop(
      `on an answer of ${upstream} to ${client} with one wrong member, whole or streamed`,
      [replies, cuts, steps, anyJson],
      ([reply, lengths, path, put]) => {
        sendable(made.open(call).response(corrupted(source.body(reply), path, put)))
        const stream = made.open(call).stream()
        const out: Array<SseEvent> = []
        source.events(reply, lengths).forEach((event, index) => {
          const broken: UpstreamEvent =
            index % 3 !== path[0]
              ? event
              : "data" in event
                ? { data: JSON.stringify(corrupted(JSON.parse(event.data === "[DONE]" ? "0" : event.data), path, put)) }
                : { headers: event.headers, body: corrupted(event.body, path, put) }
          out.push(...(stream?.push(broken) ?? []))
        })
        out.push(...(stream?.end() ?? []))
        for (const { data } of out) if (data !== "[DONE]") assert.isTrue(isObject(JSON.parse(data)))
      },
      { arbitrary: { runs: 60 } }
    )
  }

  it("on text that is no JSON, or on events of another transport", () => {
    for (const [, , made] of chats) {
      const stream = made.open(call).stream()
      assert.isDefined(stream)
      for (const data of ["", "{", "[DONE", "null", '"x"', "[]"]) stream?.push({ data })
      stream?.push({ headers: {}, body: undefined })
      stream?.end()
    }
  })

  it("on values nested deeper than the stack", () => {
    let deep: unknown = "end"
    for (let i = 0; i < 20_000; i++) deep = [deep]
    for (const [client, , made] of chats) {
      const translation = made.open(call)
      const body = {
        model: "m",
        max_tokens: 1,
        messages: [{ role: "assistant", content: [{ type: "tool_use", id: "t", name: "f", input: deep }] }],
        input: deep,
        tools: [{ type: "function", name: "f", function: { name: "f", parameters: deep }, input_schema: deep }],
        response_format: { type: "json_schema", json_schema: { name: "n", schema: deep } }
      }
      assert.doesNotThrow(() => translation.request(body), client)
      assert.doesNotThrow(() => translation.response({ content: [{ type: "tool_use", id: "t", input: deep }] }), client)
      assert.doesNotThrow(() => translation.error(500, deep), client)
    }
  })
})

describe("native translations", () => {
  it.prop(
    "hand back the very object that came, whatever is in it",
    [Arbitrary.schema(Schema.Record(Schema.String, Schema.Json))],
    ([json]) => {
      // A stream of a client who asks for no usage is the one that is changed.
      const { stream: _, ...body } = json
      for (const format of ["completions", "messages", "responses", "embeddings", "rerank", "detect"] as const) {
        const translation = Result.getOrThrow(translator(format, format)).open(call)
        assert.strictEqual(Result.getOrThrow(translation.request(body)), body)
        assert.strictEqual(Result.getOrThrow(translation.response(body)), body)
        assert.isUndefined(translation.stream())
      }
    },
    { arbitrary: { runs: 60 } }
  )
})
