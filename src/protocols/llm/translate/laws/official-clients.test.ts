/** What the providers' own client libraries make of translated streams: nobody else's opinion counts as much. */
import { Buffer } from "node:buffer"
import Anthropic from "@anthropic-ai/sdk"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Result } from "effect"
import OpenAI from "openai"
import type { ClientFormat, UpstreamFormat } from "../../formats/format.ts"
import type { SseEvent } from "../../formats/stream.ts"
import type { Call } from "../codec.ts"
import { pairRules } from "../rules.ts"
import { translator } from "../translator.ts"
import { cuts, type GeneratedReply, replies, upstreams } from "./replies.ts"

const call: Call = { model: "model", now: 1_700_000_000_000, randomHex: (digits) => "0".repeat(digits) }

const wire = (events: ReadonlyArray<SseEvent>): string =>
  events.map(({ event, data }) => `${event === undefined ? "" : `event: ${event}\n`}data: ${data}\n\n`).join("")

/** A server that answers every request with these events. */
const answering = (events: ReadonlyArray<SseEvent>) => () =>
  Promise.resolve(new Response(Buffer.from(wire(events)), { headers: { "content-type": "text/event-stream" } }))

/** Lone surrogates do not survive UTF-8, on any wire. */
const wellFormed = (reply: GeneratedReply): boolean =>
  JSON.stringify(reply).isWellFormed() && !/\\ud/.test(JSON.stringify(reply))

const streamed = (
  client: ClientFormat,
  upstream: UpstreamFormat,
  reply: GeneratedReply,
  lengths: ReadonlyArray<number>
): ReadonlyArray<SseEvent> => {
  const stream = Result.getOrThrow(translator(client, upstream)).open(call).stream()
  const events = upstreams[upstream]?.events(reply, lengths) ?? []
  return [...events.flatMap((event) => stream?.push(event) ?? []), ...(stream?.end() ?? [])]
}

/** The text of an answer as the client sees it, and its calls. */
interface Seen {
  readonly text: string
  readonly calls: ReadonlyArray<{ readonly name: string; readonly input: unknown }>
}

const throughOpenAi = async (events: ReadonlyArray<SseEvent>): Promise<Seen> => {
  const openai = new OpenAI({ apiKey: "k", fetch: answering(events), maxRetries: 0 })
  const stream = openai.chat.completions.stream({ model: "m", messages: [] })
  const completion = await stream.finalChatCompletion()
  const message = completion.choices[0]?.message
  const calls = (message?.tool_calls ?? []).flatMap((each) =>
    each.type === "function" ? [{ name: each.function.name, input: JSON.parse(each.function.arguments) }] : []
  )
  return { text: message?.content ?? "", calls }
}

const throughResponses = async (events: ReadonlyArray<SseEvent>): Promise<Seen> => {
  const openai = new OpenAI({ apiKey: "k", fetch: answering(events), maxRetries: 0 })
  const response = await openai.responses.stream({ model: "m", input: "hi" }).finalResponse()
  const calls = response.output.flatMap((item) =>
    item.type === "function_call" ? [{ name: item.name, input: JSON.parse(item.arguments) }] : []
  )
  return { text: response.output_text, calls }
}

const throughAnthropic = async (events: ReadonlyArray<SseEvent>): Promise<Seen> => {
  const anthropic = new Anthropic({ apiKey: "k", fetch: answering(events), maxRetries: 0 })
  const message = await anthropic.messages.stream({ model: "m", max_tokens: 1, messages: [] }).finalMessage()
  const text = message.content.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("")
  const calls = message.content.flatMap((block) =>
    block.type === "tool_use" ? [{ name: block.name, input: block.input }] : []
  )
  return { text, calls }
}

const libraries: { readonly [C in ClientFormat]?: (events: ReadonlyArray<SseEvent>) => Promise<Seen> } = {
  completions: throughOpenAi,
  messages: throughAnthropic,
  responses: throughResponses
}

for (const [client, row] of Object.entries(pairRules))
  for (const [upstream, rules] of Object.entries(row))
    describe(`the library of ${client} clients`, () => {
      it.effect.prop(
        `reads a streamed answer of ${upstream}`,
        [replies, cuts],
        ([generated, lengths]) =>
          Effect.gen(function* () {
            if (!wellFormed(generated)) return
            // The libraries throw on answers that were cut short or filtered, as they should.
            const ending = generated.calls.length > 0 ? "tools" : "end"
            const reply: GeneratedReply = { ...generated, ending }
            const library = libraries[client as ClientFormat]
            assert.isDefined(library)
            const events = streamed(client as ClientFormat, upstream as UpstreamFormat, reply, lengths)
            const seen = yield* Effect.promise(() => library(events))
            const reasoning = rules.reasoningAsText ? (reply.reasoning ?? "") : ""
            assert.strictEqual(seen.text, reasoning + (reply.text ?? ""))
            assert.deepStrictEqual(
              seen.calls,
              reply.calls.map(({ name, input }) => ({ name, input }))
            )
          }),
        { arbitrary: { runs: 25 } }
      )
    })
