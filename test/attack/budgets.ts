/**
 * Budgets: callers who want more than they may have, by asking in other words, all at once, or under other names, and
 * providers that lie about what was used. The provider is never asked more often than the budget allows.
 */
import { json } from "node:stream/consumers"
import { Effect } from "effect"
import type { Sent } from "../client.ts"
import { httpBackend, portOf } from "../http/edge.ts"
import { RawClient } from "../http/raw-client.ts"
import { attack, type Trial } from "./attack.ts"
import { attacked, wellRoute } from "./gateway.ts"

interface Spree {
  readonly title: string
  /** How the same caller asks the n-th time. */
  readonly ask?: (index: number) => Sent
  /** All at once, instead of one after the other. */
  readonly together?: boolean
  /** Hangs up as soon as the request is sent. */
  readonly leaves?: boolean
  /** What the provider says was used; left out: 50 tokens. */
  readonly usage?: unknown
  /** What the request says besides: it may ask for a stream. */
  readonly extra?: object
  /** The budget: 3 requests, or 100 tokens. */
  readonly limit: "requests" | "tokens"
  /** How often the provider may be asked of twelve times. */
  readonly most: number
}

const words = "hello ".repeat(16)
const type = { "content-type": "application/json", authorization: "Bearer a" }
const body = (extra: object = {}) =>
  JSON.stringify({ model: "m", max_tokens: 5, messages: [{ role: "user", content: words }], ...extra })
const plain = (changes: Partial<Sent> = {}): Sent => ({
  method: "POST",
  path: "/v1/chat/completions",
  headers: type,
  body: body(),
  ...changes
})
const headed = (headers: (index: number) => Readonly<Record<string, string>>) => (index: number) =>
  plain({ headers: { ...type, ...headers(index) } })

const evasions: ReadonlyArray<readonly [title: string, ask: (index: number) => Sent]> = [
  ["the same again", () => plain()],
  ["from other addresses, as it says", headed((i) => ({ "x-forwarded-for": `10.0.0.${i}` }))],
  [
    "from other addresses, as it says otherwise",
    headed((i) => ({ forwarded: `for=10.0.0.${i}`, "x-real-ip": `10.0.0.${i}` }))
  ],
  ["of other hosts", headed((i) => ({ host: `h${i}.example` }))],
  ["as other users, as it says", headed((i) => ({ "x-user": `u${i}`, "x-headgate-user": `u${i}` }))],
  ["with other cookies", headed((i) => ({ cookie: `session=${i}` }))],
  ["by other agents", headed((i) => ({ "user-agent": `agent/${i}` }))],
  [
    "with other request ids",
    headed((i) => ({ "x-request-id": `${i}`, traceparent: `00-${String(i).padStart(32, "1")}-1111111111111111-01` }))
  ],
  ["with the scheme spelled anew", headed((i) => ({ authorization: `${i % 2 ? "BEARER" : "bearer"} a` }))],
  ["with other queries", (i) => plain({ path: `/v1/chat/completions?n=${i}` })],
  ["with slashes behind", (i) => plain({ path: `/v1/chat/completions${"/".repeat(i % 3)}` })],
  ["with slashes before", (i) => plain({ path: `${"/".repeat(1 + (i % 3))}v1/chat/completions` })],
  ["with the path spelled anew", (i) => plain({ path: i % 2 ? "/v1/%63hat/completions" : "/v1/./chat/completions" })],
  ["with parameters in the path", (i) => plain({ path: `/v1/chat/completions;p=${i}` })],
  ["without the version", () => plain({ path: "/chat/completions" })],
  ["in another format", (i) => plain({ path: i % 2 ? "/v1/messages" : "/v1/chat/completions" })],
  [
    "in all formats",
    (i) =>
      plain({
        path: ["/v1/messages", "/v1/responses", "/v1/embeddings", "/v1/chat/completions"][i % 4]!,
        body: body({ input: words })
      })
  ],
  ["of other models", (i) => plain({ body: body({ model: `m${i}` }) })],
  ["of models in other letters", (i) => plain({ body: body({ model: i % 2 ? "M" : "m" }) })],
  ["for other users", (i) => plain({ body: body({ user: `u${i}`, metadata: { user_id: `u${i}` } }) })],
  ["in streams", () => plain({ body: body({ stream: true }) })],
  ["with another type", (i) => plain({ headers: { ...type, "content-type": `text/plain; v=${i}` } })],
  [
    "with a member twice",
    () => plain({ body: `{"model":"m","model":"m2","max_tokens":5,"messages":[{"role":"user","content":"x"}]}` })
  ],
  ["with a key in the query", (i) => plain({ path: `/v1/chat/completions?key=b${i}` })],
  ["with another key beside it", headed((i) => ({ "x-api-key": `b${i}`, "api-key": `b${i}` }))]
]

/** A usage that cannot be believed is charged by what was admitted: a quarter of the bytes that were asked. */
const byEstimate = Math.ceil(100 / (words.length / 4))

const lies: ReadonlyArray<readonly [title: string, usage: unknown, most: number]> = [
  ["50 tokens", { prompt_tokens: 25, completion_tokens: 25, total_tokens: 50 }, 3],
  ["nothing", undefined, byEstimate],
  ["null", null, byEstimate],
  ["a text", "free", byEstimate],
  ["a list", [], byEstimate],
  ["numbers as texts", { prompt_tokens: "0", completion_tokens: "0", total_tokens: "0" }, byEstimate],
  ["negative numbers", { prompt_tokens: -1000, completion_tokens: -1000, total_tokens: -2000 }, byEstimate],
  ["a negative answer", { prompt_tokens: 25, completion_tokens: -100, total_tokens: -75 }, byEstimate],
  ["numbers beyond all", { prompt_tokens: 1e308, completion_tokens: 1e308, total_tokens: 1e308 }, byEstimate],
  ["fractions", { prompt_tokens: 25.5, completion_tokens: 24.5, total_tokens: 50 }, byEstimate],
  ["a total that is less", { prompt_tokens: 25, completion_tokens: 25, total_tokens: 1 }, 3],
  ["no total", { prompt_tokens: 25, completion_tokens: 25 }, 3]
]

const cases: ReadonlyArray<Spree> = [
  ...evasions.flatMap(
    ([title, ask]): ReadonlyArray<Spree> => [
      { title: `asks ${title}`, ask, limit: "requests", most: 3 },
      { title: `asks ${title}, all at once`, ask, together: true, limit: "requests", most: 3 }
    ]
  ),
  { title: "asks and leaves", ask: () => plain(), leaves: true, limit: "requests", most: 3 },
  {
    title: "asks for streams and leaves",
    ask: () => plain({ body: body({ stream: true }) }),
    leaves: true,
    limit: "requests",
    most: 3
  },
  ...lies.flatMap(
    ([title, usage, most]): ReadonlyArray<Spree> => [
      { title: `the provider says ${title}`, usage: usage ?? null, limit: "tokens", most },
      {
        title: `the provider says ${title} in a stream`,
        usage: usage ?? null,
        extra: { stream: true },
        limit: "tokens",
        most
      }
    ]
  ),
  {
    title: "a thousand answers at once",
    usage: { prompt_tokens: 25, completion_tokens: 25_000, total_tokens: 25_025 },
    extra: { n: 1000 },
    limit: "tokens",
    most: 1
  },
  // What is under way at the same time is admitted by its estimate.
  { title: "all of the budget at once", together: true, limit: "tokens", most: byEstimate }
]

const times = 12

const open = Effect.gen(function* () {
  let now: Spree
  let asked = 0
  const server = yield* httpBackend(async (request, response) => {
    response.on("error", () => {})
    const told = (await json(request).catch(() => ({}))) as { stream?: boolean }
    asked++
    const usage = now.usage === undefined ? { prompt_tokens: 25, completion_tokens: 25, total_tokens: 50 } : now.usage
    const message = { role: "assistant", content: "fine" }
    if (told.stream === true) {
      response.writeHead(200, { "content-type": "text/event-stream" })
      const chunk = (more: object) =>
        response.write(
          `data: ${JSON.stringify({ id: "c", object: "chat.completion.chunk", created: 1, model: "m", ...more })}\n\n`
        )
      chunk({ choices: [{ index: 0, delta: message, finish_reason: "stop" }] })
      chunk({ choices: [], usage })
      return void response.end("data: [DONE]\n\n")
    }
    response.writeHead(200, { "content-type": "application/json" })
    const choices = [{ index: 0, message, finish_reason: "stop" }]
    response.end(JSON.stringify({ id: "c", object: "chat.completion", created: 1, model: "m", choices, usage }))
  })
  const provider = portOf(server.address())
  const configuration = ({ limit }: Spree) => `
gateways: { default: { port: 8080 } }
routes: [${wellRoute}]
llm:
  gateways: default
  models: [{ name: "*", provider: openai, params: { baseUrl: "http://127.0.0.1:${provider}/v1", apiKey: k } }]
  policies:
    apiKey: { mode: strict, keys: [{ key: a, metadata: { user: a } }, { key: b, metadata: { user: b } }] }
    localRateLimit:
      - ${
        limit === "requests"
          ? "{ maxTokens: 3, tokensPerFill: 3, fillInterval: 1h, key: apiKey.user }"
          : "{ maxTokens: 100, tokensPerFill: 100, fillInterval: 1h, type: tokens, key: apiKey.user }"
      }
`
  const trial: Trial<Spree> = (spree) =>
    Effect.gen(function* () {
      const { port, ask, well } = yield* attacked(configuration(spree))
      yield* Effect.promise(async () => {
        now = spree
        asked = 0
        const sent = (index: number): Sent => spree.ask?.(index) ?? plain({ body: body(spree.extra) })
        const once = async (index: number) => {
          const one = sent(index)
          if (spree.leaves !== true) return ask(one)
          const text = String(one.body)
          const lines = Object.entries(one.headers ?? {}).map(([name, value]) => `${name}: ${value}`)
          const client = new RawClient(port).send(
            `POST ${one.path} HTTP/1.1\r\nhost: a\r\n${lines.join("\r\n")}\r\ncontent-length: ${text.length}\r\n\r\n${text}`
          )
          const before = asked
          await client.until(({ ended, closed, size }) => asked > before || size > 0 || ended || closed)
          client.socket.destroy()
          return undefined
        }
        const all = Array.from({ length: times }, (_, index) => index)
        if (spree.together === true) await Promise.all(all.map(once))
        else for (const index of all) await once(index)
        if (asked === 0) throw new Error("the provider was never asked")
        if (asked > spree.most) throw new Error(`the provider was asked ${asked} times, ${spree.most} were to be had`)
        // Somebody else's budget is untouched.
        const other = await ask(plain({ headers: { ...type, authorization: "Bearer b" } }))
        if (other?.status !== 200) throw new Error(`somebody else received ${other?.status} ${other?.body}`)
        await well()
      })
    })
  return trial
})

export const budgets = attack<Spree>({
  class: "budgets",
  name: "budgets",
  proves: "nobody gets more than the budget, and nobody else pays for it",
  cases,
  open
})
