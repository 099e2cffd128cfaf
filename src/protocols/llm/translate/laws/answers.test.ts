import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import type { ClientFormat, UpstreamFormat } from "../../formats/format.ts"
import { isObject, type JsonObject, listAt, objectAt, objectsAt } from "../../formats/json.ts"
import type { SseEvent } from "../../formats/stream.ts"
import type { Call } from "../codec.ts"
import { pairRules } from "../rules.ts"
import { type Translation, translator } from "../translator.ts"
import { foldCompletions, foldMessages, foldResponses } from "./folds.ts"
import { cuts, type GeneratedReply, replies, type Upstream, upstreams } from "./replies.ts"

const call: Call = { model: "model", now: 1_700_000_000_000, randomHex: (digits) => "0".repeat(digits) }

const pairs = Object.entries(pairRules).flatMap(([client, row]) =>
  Object.keys(row).map((upstream) => [client as ClientFormat, upstream as UpstreamFormat] as const)
)

const folds: { readonly [C in ClientFormat]?: (events: ReadonlyArray<SseEvent>) => JsonObject } = {
  completions: foldCompletions,
  messages: foldMessages,
  responses: foldResponses
}

const open = (client: ClientFormat, upstream: UpstreamFormat): Translation =>
  Result.getOrThrow(translator(client, upstream)).open(call)

const streamed = (
  translation: Translation,
  source: Upstream,
  reply: GeneratedReply,
  lengths: ReadonlyArray<number>
) => {
  const stream = translation.stream()
  if (stream === undefined) throw new Error("a translated stream is translated")
  const events = source.events(reply, lengths).flatMap((event) => stream.push(event))
  return { stream, events: [...events, ...stream.end()] }
}

/** An empty text is no text: chunks cannot tell the two apart. */
const withoutEmptyText = (choice: JsonObject): JsonObject => {
  const message = objectAt(choice, "message") ?? {}
  return { ...choice, message: { ...message, content: message["content"] || null } }
}

/** What the chunks of an answer say of it; the id of a whole converse answer has another form than that of a streamed one. */
const told = (client: ClientFormat, upstream: UpstreamFormat, body: JsonObject): JsonObject => {
  if (client !== "completions") return body
  const { id, model, created, usage } = body
  const choices = objectsAt(body, "choices").map(withoutEmptyText)
  return { ...(upstream === "converse" ? {} : { id }), model, created, choices, usage }
}

const refusalNeedsText = (upstream: UpstreamFormat, reply: GeneratedReply): GeneratedReply => {
  // A response that refuses does so in words, and calls nothing then; one that calls ends with its calls.
  if (upstream !== "responses") return reply
  if (reply.ending === "filter") return { ...reply, text: reply.text ?? "no", calls: [] }
  return reply
}

for (const [client, upstream] of pairs)
  describe(`${upstream} answers a ${client} client`, () => {
    const source = upstreams[upstream]
    const fold = folds[client]
    assert.isDefined(source)
    assert.isDefined(fold)

    it.prop(
      "a streamed answer put together is the whole answer, however it is cut",
      [replies, cuts],
      ([generated, lengths]) => {
        const reply = refusalNeedsText(upstream, generated)
        const whole = Result.getOrThrow(open(client, upstream).response(source.body(reply)))
        const { events } = streamed(open(client, upstream), source, reply, lengths)
        assert.isTrue(isObject(whole))
        if (isObject(whole)) assert.deepStrictEqual(told(client, upstream, fold(events)), told(client, upstream, whole))
      },
      { arbitrary: { runs: 60 } }
    )

    it.prop(
      "a stream counts what the whole answer counts",
      [replies, cuts],
      ([reply, lengths]) => {
        const { stream } = streamed(open(client, upstream), source, reply, lengths)
        assert.deepInclude(stream.usage, { input: reply.input, output: reply.output, cacheRead: reply.cacheRead })
      },
      { arbitrary: { runs: 20 } }
    )

    it.prop(
      "a stream that is cut off tells the beginning of the whole one, and never that it is whole",
      [replies, cuts],
      ([reply, lengths]) => {
        const all = source.events(reply, lengths)
        const full = streamed(open(client, upstream), source, reply, lengths).events
        const stream = open(client, upstream).stream()
        const events: Array<SseEvent> = []
        for (const event of all.slice(0, Math.floor(all.length / 2))) {
          events.push(...(stream?.push(event) ?? []))
          assert.deepStrictEqual(events, full.slice(0, events.length))
        }
        const last = stream?.abort() ?? []
        const complete = /message_stop|response\.(completed|incomplete)|\[DONE\]|"finish_reason":"/
        for (const { data } of [...events, ...last]) assert.notMatch(data, complete)
      },
      { arbitrary: { runs: 20 } }
    )
  })

describe("messages of a completions answer", () => {
  it.prop(
    "keep text, calls and finish on the way to a messages client and back",
    [replies],
    ([reply]) => {
      const source = upstreams.completions
      assert.isDefined(source)
      const there = Result.getOrThrow(open("messages", "completions").response(source.body(reply)))
      const back = Result.getOrThrow(open("completions", "messages").response(there))
      assert.isTrue(isObject(back))
      if (!isObject(back)) return
      const [choice] = objectsAt(back, "choices")
      const [said] = objectsAt(source.body(reply), "choices")
      const message = choice?.["message"]
      const original = said?.["message"]
      assert.isTrue(isObject(message) && isObject(original))
      if (!isObject(message) || !isObject(original)) return
      assert.strictEqual(message["content"], original["content"])
      assert.deepStrictEqual(listAt(message, "tool_calls"), listAt(original, "tool_calls"))
      assert.strictEqual(choice?.["finish_reason"], said?.["finish_reason"])
    },
    { arbitrary: { runs: 60 } }
  )
})
