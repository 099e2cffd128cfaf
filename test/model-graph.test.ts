/** What the graph of a route to models and the trace of a request say: each step of a call is a node, and the one that refused it is named. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import type { Request } from "../src/main/testing/arbitraries.ts"
import { whole } from "../src/main/testing/whole.ts"
import type { BackendSaid } from "../src/main/testing/world.ts"

const configuration = `
llm:
  guardrails:
    request: [{ regex: { action: reject, rules: [{ pattern: secret }] } }]
    response: [{ regex: { action: reject, rules: [{ pattern: hidden }] } }]
  policies:
    localRateLimit: [{ type: tokens, maxTokens: 4, tokensPerFill: 4, fillInterval: 60s }]
  models:
    - { name: native, provider: openAI, params: { apiKey: k, model: gpt-4o } }
    - { name: other, provider: anthropic, params: { apiKey: k, model: claude-sonnet-4-5 } }
    - { name: counted, provider: openAI, params: { apiKey: k, model: gpt-4o, tokenize: true } }
    - { name: embed, provider: { custom: { formats: [{ type: embeddings }] } }, params: { baseUrl: "http://e.example" } }
`

const json = [["content-type", "application/json"]] as const
const chat = (model: string, text: unknown, path = "/v1/chat/completions"): Request => ({
  method: "POST",
  scheme: "http",
  authority: "gateway.example",
  path,
  headers: json,
  body: { chunks: [JSON.stringify({ model, messages: [{ role: "user", content: text }] })], streamed: false },
  prefix: undefined
})
const says = (body: unknown, status = 200): BackendSaid => ({
  status,
  headers: json,
  body: { chunks: [JSON.stringify(body)], streamed: false }
})
const completion = (content: string) => says({ choices: [{ message: { role: "assistant", content } }] })

/** The nodes that a request came by, with what each made of it. */
const way = (request: Request, backend: BackendSaid = completion("hello")) =>
  Effect.scoped(
    Effect.gen(function* () {
      const { send } = yield* whole(configuration, { backend })
      const { stages, status } = yield* send(request)
      const own = stages.filter(({ step }) => step.policy === "llm")
      return { status, nodes: own.map(({ step, outcome }) => `${step.node} ${outcome}`) }
    })
  )

const prepared = ["select", "classify", "enrich", "negotiate", "budget", "guardRequest", "translate"]

describe("the graph of a model call", () => {
  it.effect("has a node for each step, in their order, each with its place in the configuration", () =>
    Effect.gen(function* () {
      const { ways } = yield* whole(configuration)
      const { graph } = ways[0]!
      const nodes = graph.nodes.filter(({ policy, kind }) => policy === "llm" || kind === "backendCall")
      assert.deepStrictEqual(
        nodes.map(({ label }) => label),
        [...prepared, "ai openai,anthropic,custom", "observe", "translateBack", "guardResponse"]
      )
      for (const { kind, path, position } of nodes.filter(({ kind }) => kind === "stage")) {
        assert.strictEqual(kind, "stage")
        assert.match(path!, /^llm/)
        assert.match(position!, /^<inline>:\d+:\d+$/)
      }
      // What the selection left leads to whoever works on it, the budgets of the route to the one node that takes from them.
      const data = graph.edges.filter(({ kind }) => kind === "data")
      const to = (slot: string) => data.filter(({ label }) => label === slot).map(({ to }) => to)
      assert.deepStrictEqual(to("tokenBudgets"), ["backend budget"])
      assert.include(to("llmCall"), "backend call")
      assert.include(to("llmCall"), "backend guardResponse (backendResponse)")
    }).pipe(Effect.scoped)
  )

  it.effect("a request that is answered came by all of them but those that it has no need of", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* way(chat("native", "hi")), {
        status: 200,
        nodes: [...prepared, "observe", "translateBack", "guardResponse"].map((node) => `${node} next`)
      })
      const { nodes } = yield* way({ ...chat("embed", "hi", "/v1/embeddings") }, says({ data: [] }))
      assert.includeMembers(nodes as Array<string>, ["guardRequest skipped", "translateBack skipped"])
    })
  )

  const refused: ReadonlyArray<
    readonly [what: string, at: string, status: number, request: Request, said?: BackendSaid]
  > = [
    ["a model that is not there", "select", 404, chat("none", "hi")],
    ["a path that readers take for different things", "classify", 400, chat("native", "hi", "/v1/chat%2fcompletions")],
    ["a format that the provider has nothing for", "negotiate", 400, chat("embed", "hi", "/v1/rerank")],
    ["more tokens than are left", "budget", 429, chat("counted", "one two three four five six")],
    ["a prompt that a guard refuses", "guardRequest", 403, chat("native", "secret")],
    ["a request that cannot be said in the provider's words", "translate", 400, chat("other", 5)],
    [
      "an answer in a coding that is not known",
      "observe",
      502,
      chat("native", "hi"),
      {
        status: 200,
        headers: [...json, ["content-encoding", "odd"]],
        body: undefined
      }
    ],
    ["an answer that cannot be said in the client's words", "translateBack", 502, chat("other", "hi"), says([])],
    ["an answer that a guard refuses", "guardResponse", 403, chat("native", "hi"), completion("hidden")]
  ]
  it.effect.each(refused)("%s is refused at the node %s", ([, node, status, request, said]) =>
    Effect.gen(function* () {
      const came = yield* way(request, said)
      assert.deepStrictEqual([came.nodes.at(-1), came.status], [`${node} failed`, status])
    })
  )

  const guards = `
llm:
  guardrails:
    request:
      - { webhook: { target: { host: "guard.example:80" }, failureMode: failOpen } }
      - { regex: { action: mask, rules: [{ pattern: secret }] } }
      - { regex: { action: reject, rules: [{ pattern: forbidden }] } }
  models:
    - name: plain
      provider: openAI
      params: { apiKey: k }
    - name: strict
      provider: openAI
      params: { apiKey: k }
      guardrails: { request: [{ webhook: { target: { host: "guard.example:80" } } }] }
    - name: own
      provider: openAI
      params: { apiKey: k }
      guardrails: { request: [{ webhook: { target: { host: "guard.example:80" } } }] }
`
  it.effect("each guard is a node with its own place and fail mode, which the engine applies and tells", () =>
    Effect.gen(function* () {
      const { ways, send, world } = yield* whole(guards, { backend: completion("hello"), failing: true })
      const { graph } = ways[0]!
      const drawn = graph.nodes.filter(({ label }) => label === "guardRequest")
      assert.deepStrictEqual(
        drawn.map(({ path, failMode }) => [path, failMode]),
        [
          ["llm.guardrails.request[0]", "failOpen"],
          ["llm.guardrails.request[1]", "failClosed"],
          ["llm.guardrails.request[2]", "failClosed"],
          // Those of the models share one.
          ["llm.models", "failClosed"]
        ]
      )
      const onward = graph.edges.filter(({ from }) => from === drawn[0]!.id).map(({ kind }) => kind)
      assert.sameMembers(onward, ["next", "failOpen", "fail"])
      const guarded = (model: string, text: string) =>
        Effect.map(send(chat(model, text)), ({ stages, status }) => [
          status,
          ...stages.filter(({ step }) => step.node === "guardRequest").map(({ outcome }) => outcome)
        ])
      assert.deepStrictEqual(yield* guarded("plain", "a secret"), [200, "failedOpen", "next", "next", "skipped"])
      assert.include(world.received.at(-1)!.body, "a <masked>")
      assert.deepStrictEqual(yield* guarded("plain", "forbidden"), [403, "failedOpen", "next", "failed"])
      assert.deepStrictEqual(yield* guarded("strict", "hi"), [503, "failedOpen", "next", "next", "failed"])
      assert.deepStrictEqual(yield* guarded("own", "hi"), [503, "failedOpen", "next", "next", "failed"])
    }).pipe(Effect.scoped)
  )
})
