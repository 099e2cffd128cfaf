/**
 * The law of guards over answers: whether an answer comes whole or streams, however its bytes are cut, and in whosever words it is put, the
 * guards come to the same verdict, and nothing that they refuse reaches the client. What was used is counted once.
 */
import { assert, describe, it } from "@effect/vitest"
import { Arbitrary, Effect, Exit, Schema, Scope } from "effect"
import { afterAll, beforeAll } from "vitest"
import type { Request } from "../src/main/testing/arbitraries.ts"
import { traceProblems } from "../src/main/testing/order.ts"
import { type Whole, whole } from "../src/main/testing/whole.ts"
import type { BackendSaid, Received } from "../src/main/testing/world.ts"
import type { Exchange } from "../src/pipeline/exchange.ts"
import type { UpstreamEvent } from "../src/protocols/llm/formats/stream.ts"
import { encodeSse } from "../src/protocols/llm/sse/encoder.ts"
import { replies, upstreams } from "../src/protocols/llm/translate/laws/replies.ts"

const word = "swordfish"
const webhook = (host: string, more = "") => `{ webhook: { target: { host: "${host}.example:80" }${more} } }`
const regex = (action: string) => `{ regex: { action: ${action}, rules: [{ pattern: ${word} }] } }`

/** Each guard, and when it refuses: never, always, or where the word is. */
const guards = {
  none: ["", "never"],
  rejects: [regex("reject"), "word"],
  masks: [regex("mask"), "never"],
  audits: [regex("audit"), "never"],
  asks: [webhook("guard"), "word"],
  asksOpen: [webhook("guard", ", failureMode: failOpen"), "word"],
  asksAudit: [webhook("guard", ", action: audit"), "never"],
  down: [webhook("down"), "always"],
  downAudit: [webhook("down", ", action: audit"), "always"],
  downOpen: [webhook("down", ", failureMode: failOpen"), "never"],
  downOpenThenRejects: [`${webhook("down", ", failureMode: failOpen")}, ${regex("reject")}`, "word"],
  // The second one sees what the first one left.
  masksThenAsks: [`${regex("mask")}, ${webhook("guard")}`, "never"]
} as const
type Guard = keyof typeof guards
const guardNames = Object.keys(guards) as ReadonlyArray<Guard>

/** In whose words the client speaks, and in whose the provider. */
const pairs = [
  ["completions", "completions"],
  ["completions", "messages"],
  ["messages", "messages"],
  ["messages", "completions"],
  ["responses", "responses"],
  ["generateContent", "generateContent"]
] as const
type Pair = (typeof pairs)[number]

const providers = {
  completions: "openAI",
  messages: "anthropic",
  responses: "openAI",
  generateContent: "gemini"
} as const

const configuration = `
llm:
  models:
${guardNames
  .flatMap((guard) =>
    ["openAI", "anthropic", "gemini"].map(
      (provider) =>
        `  - { name: ${guard}-${provider}, provider: ${provider}, params: { apiKey: k, model: m }, guardrails: { streaming: Enabled, response: [${guards[guard][0]}] } }`
    )
  )
  .join("\n")}
`

const paths = { completions: "/v1/chat/completions", messages: "/v1/messages", responses: "/v1/responses" }

const asking = ([client, upstream]: Pair, guard: Guard, stream: boolean): Request => {
  const model = `${guard}-${providers[upstream]}`
  const hello = { messages: [{ role: "user", content: "hello" }] }
  const body = {
    completions: hello,
    messages: { ...hello, max_tokens: 100 },
    responses: { input: "hello" },
    generateContent: { contents: [{ role: "user", parts: [{ text: "hello" }] }] }
  }[client]
  const native = client === "generateContent"
  return {
    method: "POST",
    scheme: "http",
    authority: "gateway.example",
    path: native
      ? `/v1beta/models/${model}:${stream ? "streamGenerateContent?alt=sse" : "generateContent"}`
      : paths[client],
    headers: [["content-type", "application/json"]],
    body: { chunks: [JSON.stringify(native ? body : { model, stream, ...body })], streamed: false },
    prefix: undefined
  }
}

const pieces = (text: string, sizes: ReadonlyArray<number>): ReadonlyArray<string> => {
  const cut: Array<string> = []
  for (let at = 0, i = 0; at < text.length; i++) {
    const size = sizes[i % sizes.length]!
    cut.push(text.slice(at, at + size))
    at += size
  }
  return cut
}

const framed = (events: ReadonlyArray<UpstreamEvent>): string =>
  events.map((event) => ("data" in event ? encodeSse(event) : assert.fail("no event of SSE"))).join("")

/** The members in which answers say something, and errors. */
const saying = new Set(["content", "text", "delta", "message", "error"])

/** All that a value says, in its order. */
const textsOf = (value: unknown, says = false): string =>
  typeof value === "string"
    ? says
      ? value
      : ""
    : typeof value === "object" && value !== null
      ? Object.entries(value)
          .map(([name, member]) => textsOf(member, saying.has(name)))
          .join("")
      : ""

const read = (body: string): string =>
  body
    .split("\n")
    .flatMap((line) => (line.startsWith("data: {") ? [textsOf(JSON.parse(line.slice(6)))] : []))
    .join("")

const Drawn = Schema.Struct({
  guard: Schema.Literals(guardNames),
  pair: Schema.Literals([0, 1, 2, 3, 4, 5]),
  /** Letters before and behind the word, if it is said. Instead of a number: so many of its letters stand in the first window. */
  before: Schema.Union([
    Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 2500 })),
    Schema.Struct({ letters: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: word.length - 1 })) })
  ]),
  behind: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 1500 })),
  hasWord: Schema.Boolean,
  /** How far apart the events of the text begin, and the chunks of the bytes. */
  apart: Schema.Int.check(Schema.isBetween({ minimum: 20, maximum: 400 })),
  chunks: Schema.Array(Schema.Int.check(Schema.isBetween({ minimum: 10, maximum: 900 }))).check(
    Schema.isMinLength(1),
    Schema.isMaxLength(3)
  )
})

const json = (body: unknown): BackendSaid => ({
  status: 200,
  headers: [["content-type", "application/json"]],
  body: { chunks: [JSON.stringify(body)], streamed: false }
})

let said: BackendSaid = { fails: "nothing to say" }
const backend = ({ target, body }: Received): BackendSaid => {
  if (target.startsWith("down")) return { fails: "down" }
  if (!target.startsWith("guard")) return said
  return json({ action: body.includes(word) ? { body: "no", status_code: 403 } : {} })
}

let scope: Scope.Closeable
let gateway: Whole
beforeAll(async () => {
  scope = await Effect.runPromise(Scope.make())
  gateway = await Effect.runPromise(Effect.provideService(whole(configuration, { backend }), Scope.Scope, scope))
})
afterAll(() => Effect.runPromise(Scope.close(scope, Exit.void)))

/** What a request comes to: what the client is told, whether that is a refusal, and what is counted. */
const played = (request: Request) =>
  Effect.gen(function* () {
    const seen: Array<Exchange> = []
    const before = gateway.world.traces.length
    const answer = yield* gateway.send(request, { answered: (x) => seen.push(x.latest) })
    const refused = answer.status !== 200 || answer.body.includes("guardrail_blocked")
    const told =
      answer.status === 200 && answer.body.includes("data: ") ? read(answer.body) : textsOf(parsed(answer.body), true)
    const facts = Object.fromEntries(
      [...(seen[0]?.facts ?? [])].filter(([name]) => name.startsWith("gen_ai.usage.") || name.includes("estimated"))
    )
    assert.deepStrictEqual(traceProblems(gateway.world.traces[before]!), [])
    return { status: answer.status, refused, told, facts }
  })

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

/** How many calls have told what they used. */
const counts = Effect.suspend(() =>
  Effect.map(gateway.metrics, (text) =>
    [...text.matchAll(/gen_ai_client_token_usage_count\{[^}]*gen_ai_token_type="output"[^}]*\} (\d+)/g)].reduce(
      (sum, [, count]) => sum + Number(count),
      0
    )
  )
)

describe("guards over answers", () => {
  it.effect.prop(
    "come to one verdict over what is whole and what streams",
    [Arbitrary.schema(Drawn), replies],
    ([{ guard, pair: index, before, behind, hasWord, apart, chunks }, drawn]) =>
      Effect.gen(function* () {
        const pair = pairs[index]
        const [, upstream] = pair
        // A window ends with the event that brings its text to 1,024 bytes.
        const first = typeof before === "number" ? before : Math.ceil(1024 / apart) * apart - before.letters
        const text = `${"a".repeat(first)}${hasWord ? word : ""}${"b".repeat(behind)}`
        const { reasoning: _, ...tokens } = drawn
        const reply = { ...tokens, text, calls: [], ending: "end" } as const
        const spoken = upstreams[upstream]!
        said = json(spoken.body(reply))
        const counted = yield* counts
        const inOne = yield* played(asking(pair, guard, false))
        const bytes = framed(spoken.events(reply, [apart]))
        said = {
          status: 200,
          headers: [["content-type", "text/event-stream"]],
          body: { chunks: pieces(bytes, chunks), streamed: true }
        }
        const streamed = yield* played(asking(pair, guard, true))
        assert.strictEqual((yield* counts) - counted, 2)

        const when = guards[guard][1]
        const refuses = when === "always" || (when === "word" && hasWord)
        assert.deepStrictEqual([inOne.refused, streamed.refused, streamed.status], [refuses, refuses, 200])
        if (refuses) {
          for (const { told } of [inOne, streamed]) assert.notInclude(told, word)
          return
        }
        assert.include(streamed.told, text)
        assert.include(inOne.told, guard.startsWith("masks") ? text.replace(word, "<masked>") : text)
        assert.deepStrictEqual(streamed.facts, inOne.facts)
        assert.strictEqual(streamed.facts["gen_ai.usage.output_tokens"], reply.output)
      }),
    { arbitrary: { runs: 150 } }
  )
})
