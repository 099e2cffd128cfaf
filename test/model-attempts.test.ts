/** A model call under a plan: its nodes run for each attempt, and only the one that the client is answered with is counted and charged. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import type { Request } from "../src/main/testing/arbitraries.ts"
import { whole } from "../src/main/testing/whole.ts"
import type { BackendSaid, Received } from "../src/main/testing/world.ts"
import type { Plan } from "../src/pipeline/attempts.ts"
import type { Exchange } from "../src/pipeline/exchange.ts"

/** Four attempts, for whatever a backend may be to blame for. */
const plan: Plan = {
  attempts: 4,
  again: ({ error, exchange }) =>
    error?.source === "backend" || (error === undefined && (exchange.response?.status ?? 0) >= 429) ? 10 : undefined
}

const configuration = `
llm:
  policies:
    localRateLimit: [{ type: tokens, maxTokens: 1000, tokensPerFill: 1, fillInterval: 1h }]
  guardrails:
    request: [{ regex: { action: mask, rules: [{ pattern: secret }] } }]
  models:
    - { name: native, provider: openAI, params: { apiKey: k, model: gpt-4o } }
    - { name: counted, provider: openAI, params: { apiKey: k, model: gpt-4o, tokenize: true } }
    - { name: other, provider: anthropic, params: { apiKey: k, model: claude-sonnet-4-5 } }
`

const json = [["content-type", "application/json"]] as const
const events = [["content-type", "text/event-stream"]] as const
const answer = (status: number, body: string, headers: BackendSaidHeaders = json): BackendSaid => ({
  status,
  headers,
  body: { chunks: [body], streamed: false }
})
type BackendSaidHeaders = Extract<BackendSaid, { readonly headers: unknown }>["headers"]

const chat = (model: string, more = {}): Request => ({
  method: "POST",
  scheme: "http",
  authority: "gateway.example",
  path: "/v1/chat/completions",
  headers: json,
  body: {
    chunks: [JSON.stringify({ model, messages: [{ role: "user", content: "a secret" }], ...more })],
    streamed: true
  },
  prefix: undefined
})

const completion = answer(
  200,
  JSON.stringify({
    id: "c",
    model: "gpt-4o",
    choices: [{ index: 0, finish_reason: "stop", message: { role: "assistant", content: "hello" } }],
    usage: { prompt_tokens: 30, completion_tokens: 12, total_tokens: 42 }
  })
)
const message = answer(
  200,
  JSON.stringify({
    id: "m",
    type: "message",
    role: "assistant",
    model: "claude-sonnet-4-5",
    content: [{ type: "text", text: "hello" }],
    stop_reason: "end_turn",
    usage: { input_tokens: 30, output_tokens: 12 }
  })
)
const chunks = [
  { id: "c", model: "gpt-4o", choices: [{ index: 0, delta: { role: "assistant", content: "hello" } }] },
  { id: "c", model: "gpt-4o", choices: [{ index: 0, delta: {}, finish_reason: "stop" }] },
  { id: "c", model: "gpt-4o", choices: [], usage: { prompt_tokens: 30, completion_tokens: 12, total_tokens: 42 } }
]
const stream = answer(
  200,
  [...chunks.map((chunk) => JSON.stringify(chunk)), "[DONE]"].map((data) => `data: ${data}\n\n`).join(""),
  events
)

/** What is asked for, how a provider answers it, and the tokens that a budget takes for it beforehand. */
const calls: ReadonlyArray<readonly [what: string, request: Request, said: BackendSaid, estimate: number]> = [
  ["a native answer", chat("native"), completion, 2],
  ["a counted prompt", chat("counted"), completion, 9],
  ["a translated answer", chat("other"), message, 2],
  ["a stream", chat("native", { stream: true }), stream, 2]
]

/** What three attempts come to, in front of the one that is answered. A provider that answers has used what it was sent. */
const troubles: ReadonlyArray<readonly [what: string, before: ReadonlyArray<BackendSaid>, used: number]> = [
  ["no backend is there", Array.from({ length: 3 }, () => ({ fails: "refused" })), 0],
  [
    "each refuses in its own way",
    [answer(503, "down", []), answer(429, '{"error":{"message":"slow down","type":"x"}}'), answer(500, "{")],
    0
  ],
  [
    "one answers in a coding that nobody knows, the others say that they used something",
    [
      answer(200, "x", [...json, ["content-encoding", "odd"]]),
      answer(500, 'data: {"usage":{"prompt_tokens":500,"completion_tokens":500}}\n\n', events),
      answer(502, '{"usage":{"prompt_tokens":500,"completion_tokens":500}}')
    ],
    1
  ]
]

const sampleOf = (text: string, name: string, label: string): number =>
  text
    .split("\n")
    .filter((line) => line.startsWith(`headgate_${name}{`) && line.includes(label))
    .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(" "))), 0)

describe("a model call under a plan", () => {
  for (const [what, request, said, estimate] of calls)
    it.effect.each(troubles)(`${what} is that of the fourth attempt, where %s`, ([, before, used]) =>
      Effect.gen(function* () {
        const received: Array<Received> = []
        const backend = (each: Received) => before[received.push(each) - 1] ?? said
        const { send, metrics } = yield* whole(configuration, { plan, backend })
        let facts: Exchange["facts"]
        const answered = (x: Exchange) => {
          facts = x.latest.facts
        }
        const played = yield* send(request, { answered })
        assert.deepStrictEqual([played.status, played.error, played.defects], [200, undefined, []])
        assert.include(played.body, '"content":"hello"')
        assert.strictEqual(received.length, 4)
        // Each one is sent the same, and what guards have left of the prompt.
        assert.include(received[0]!.body, '"a <masked>"')
        for (const each of received) assert.deepStrictEqual(each, received[0])
        const nodes = played.stages.filter(({ step }) => step.policy === "llm").map(({ step }) => step.node)
        for (const node of ["select", "budget", "guardRequest", "translate"])
          assert.strictEqual(nodes.filter((name) => name === node).length, 4, node)

        assert.strictEqual(facts?.get("gen_ai.usage.input_tokens"), 30)
        assert.strictEqual(facts?.get("gen_ai.usage.output_tokens"), 12)
        const text = yield* metrics
        assert.strictEqual(sampleOf(text, "gen_ai_client_token_usage_sum", 'gen_ai_token_type="input"'), 30)
        assert.strictEqual(sampleOf(text, "gen_ai_client_token_usage_sum", 'gen_ai_token_type="output"'), 12)
        // Each call took its time at the provider.
        assert.strictEqual(sampleOf(text, "gen_ai_server_request_duration_count", ""), 4)

        // What those that came to nothing had reserved is there again.
        const { headers } = yield* send(request)
        const left = Number(headers[headers.indexOf("x-ratelimit-remaining") + 1])
        assert.strictEqual(left, 1000 - 42 - estimate * (used + 1))
      }).pipe(Effect.scoped)
    )
})

describe("a call of one of several providers that cannot be reached", () => {
  const provider = (name: string) =>
    `{ name: ${name}, provider: { openAI: { model: gpt-4o } }, hostOverride: "${name}.example:80" }`
  const grouped = (...groups: ReadonlyArray<ReadonlyArray<string>>) => `
gateways: { default: { port: 8080 } }
routes:
  - backends:
      - ai: { groups: [${groups.map((names) => `{ providers: [${names.map(provider)}] }`)}] }
`
  /** @param says by the number of the call, from 0. */
  const played = (text: string, says: (call: number) => BackendSaid) =>
    Effect.gen(function* () {
      const received: Array<Received> = []
      const backend = (each: Received) => says(received.push(each) - 1)
      const { send, world } = yield* whole(text, { backend })
      const { status, body } = yield* send(chat("any"))
      assert.deepStrictEqual(world.leaks(), [])
      return { status, body, received }
    }).pipe(Effect.scoped)
  const called = (received: ReadonlyArray<Received>) => received.map(({ target }) => target.replace(".example:80", ""))
  const refused = { fails: "refused" } as const

  it.effect("is made once at another one, of its group or of the next, with all of the request", () =>
    Effect.gen(function* () {
      for (const groups of [[["one", "two"]], [["one"], ["two"]]]) {
        const { status, body, received } = yield* played(grouped(...groups), (call) =>
          call === 0 ? refused : completion
        )
        assert.strictEqual(status, 200)
        assert.include(body, '"content":"hello"')
        assert.sameMembers(called(received), ["one", "two"])
        assert.include(received[0]!.body, '"a secret"')
        assert.strictEqual(received[1]!.body, received[0]!.body)
      }
    })
  )

  it.effect("stays in its group as long as there is somebody", () =>
    Effect.gen(function* () {
      const { received } = yield* played(grouped(["one", "two"], ["three"]), (call) =>
        call === 0 ? refused : completion
      )
      assert.sameMembers(called(received), ["one", "two"])
    })
  )

  it.effect("fails where the second one cannot be reached either, or where there is none", () =>
    Effect.gen(function* () {
      const both = yield* played(grouped(["one", "two", "three"]), () => refused)
      assert.strictEqual(both.status, 503)
      assert.strictEqual(new Set(called(both.received)).size, 2)
      assert.strictEqual(both.received.length, 2)
      const alone = yield* played(grouped(["one"]), () => refused)
      assert.deepStrictEqual([alone.status, alone.received.length], [503, 1])
    })
  )

  it.effect("is not made again where a provider has answered, whatever it said", () =>
    Effect.gen(function* () {
      const { status, received } = yield* played(grouped(["one", "two"]), () => answer(503, "{}"))
      assert.deepStrictEqual([status, received.length], [503, 1])
    })
  )
})
