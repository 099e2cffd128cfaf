/** Which model a request gets, and what it reads where it gets none. */
import { request } from "node:http"
import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from "node:zlib"
import { assert, describe, it } from "@effect/vitest"
import { afterAll, beforeAll } from "vitest"
import { completion, json, type Provider, startProvider } from "./provider.ts"
import { type Headgate, startHeadgate } from "./running.ts"

let upstream: Provider
let gate: Headgate

beforeAll(async () => {
  upstream = await startProvider((_, response) =>
    json(response, completion("fine", { prompt_tokens: 1, completion_tokens: 1 }))
  )
  const to = (model: string) => `provider: openai, params: { baseUrl: "${upstream.url}/v1", model: ${model} }`
  gate = await startHeadgate(
    (port) => `
llm:
  port: ${port}
  policies:
    apiKey:
      mode: optional
      keys:
        - { key: all, metadata: { team: a } }
        - { key: some, allowedModels: [exact, "wild-1", "split"] }
        - { key: pattern, allowedModels: ["wild-*"] }
        - { key: none, allowedModels: [] }
  models:
    - { name: exact, ${to("exact-up")} }
    - { name: exact, ${to("second-up")} }
    - { name: "wild-*", ${to("wild-up")} }
    - { name: "wild-deep-*", ${to("deep-up")} }
    - { name: hidden, visibility: internal, ${to("hidden-up")} }
    - { name: guarded, authorization: { rules: ['apiKey.team == "a"'] }, ${to("guarded-up")} }
    - { name: canary, matches: [{ headers: [{ name: x-canary, value: { exact: "1" } }, { name: ":path", value: { regex: "/v1/.*" } }] }], ${to("canary-up")} }
    - { name: canary, ${to("stable-up")} }
    - { name: only-canary, matches: [{ headers: [{ name: x-canary, value: { exact: "1" } }] }, { headers: [{ name: x-beta, value: { exact: "1" } }] }], ${to("only-up")} }
  virtualModels:
    - name: split
      routing: { weighted: { targets: [{ model: hidden, weight: 1 }, { model: exact, weight: 0 }] } }
    - name: halves
      routing: { weighted: { targets: [{ model: hidden }, { model: wild-x }] } }
    - name: nowhere
      routing: { weighted: { targets: [{ model: exact, weight: 0 }] } }
    - name: ranked
      routing: { failover: { targets: [{ model: exact, priority: 2 }, { model: hidden, priority: 1 }] } }
    - name: when
      routing: { conditional: { targets: [{ model: hidden, when: "llmRequest.max_tokens > 100" }, { model: wild-y, when: 'request.headers["x-kind"] == "y"' }] } }
    - name: refused
      routing: { weighted: { targets: [{ model: only-canary }] } }
`
  )
})

afterAll(async () => {
  await gate.stop()
  await upstream.stop()
})

interface Ask {
  readonly path?: string
  readonly body?: string | Uint8Array<ArrayBuffer>
  readonly headers?: Readonly<Record<string, string>>
  readonly key?: string
  readonly method?: string
}

const send = async ({ path = "/v1/chat/completions", body, headers = {}, key, method = "POST" }: Ask) => {
  const response = await fetch(`${gate.url}${path}`, {
    method,
    headers: {
      "content-type": "application/json",
      ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
      ...headers
    },
    ...(body === undefined ? {} : { body })
  })
  return { status: response.status, type: response.headers.get("content-type"), text: await response.text() }
}

const chat = (model: string, more: object = {}) => JSON.stringify({ model, messages: [], ...more })

/** The model that the provider was asked for; the status where it was not. */
const reached = async (ask: Ask): Promise<string | number> => {
  const before = upstream.asked.length
  const { status } = await send(ask)
  return upstream.asked.length > before ? JSON.parse(upstream.asked.at(-1)!.body).model : status
}

describe("the model of a request", () => {
  const table: ReadonlyArray<readonly [what: string, ask: Ask, reaches: string | number]> = [
    ["the first of its name", { body: chat("exact") }, "exact-up"],
    ["by a pattern", { body: chat("wild-1") }, "wild-up"],
    ["by the most specific pattern", { body: chat("wild-deep-1") }, "deep-up"],
    ["none that is internal", { body: chat("hidden") }, 404],
    ["none that is not allowed", { body: chat("guarded") }, 403],
    ["one that is allowed", { body: chat("guarded"), key: "all" }, "guarded-up"],
    ["by a header", { body: chat("canary"), headers: { "x-canary": "1" } }, "canary-up"],
    ["by all headers of a match", { body: chat("canary"), headers: { "x-canary": "2" } }, "stable-up"],
    ["by one match of several", { body: chat("only-canary"), headers: { "x-beta": "1" } }, "only-up"],
    ["none where no match holds", { body: chat("only-canary") }, 404],
    ["of a key's list", { body: chat("wild-1"), key: "some" }, "wild-up"],
    ["none beside a key's list", { body: chat("wild-2"), key: "some" }, 403],
    ["none for a key with an empty list", { body: chat("exact"), key: "none" }, 403],
    ["virtual, by weight, internal ones too", { body: chat("split"), key: "some" }, "hidden-up"],
    ["virtual, best rank", { body: chat("ranked") }, "hidden-up"],
    ["virtual, by what the body says", { body: chat("when", { max_tokens: 101 }) }, "hidden-up"],
    ["virtual, by what the request says", { body: chat("when"), headers: { "x-kind": "y" } }, "wild-up"]
  ]
  for (const [what, ask, reaches] of table) it(what, async () => assert.strictEqual(await reached(ask), reaches))

  it("is spread over the targets of a weighted virtual model", async () => {
    const found = new Set<string | number>()
    for (let i = 0; i < 40; i++) found.add(await reached({ body: chat("halves") }))
    assert.deepStrictEqual([...found].sort(), ["hidden-up", "wild-up"])
  })

  const codings = { gzip: gzipSync, deflate: deflateSync, br: brotliCompressSync, zstd: zstdCompressSync }
  for (const [coding, encode] of Object.entries(codings))
    it(`is found in a body of ${coding}`, async () => {
      const body = Uint8Array.from(encode(chat("exact")))
      assert.strictEqual(await reached({ body, headers: { "content-encoding": coding } }), "exact-up")
      assert.notProperty(upstream.asked.at(-1)?.headers, "content-encoding")
    })
})

describe("the list of models", () => {
  const listed = async (ask: Ask) =>
    (JSON.parse((await send({ path: "/v1/models", method: "GET", ...ask })).text).data as ReadonlyArray<{ id: string }>)
      .map(({ id }) => id)
      .sort()
  const open = [
    "canary",
    "exact",
    "halves",
    "nowhere",
    "only-canary",
    "ranked",
    "refused",
    "split",
    "when",
    "wild-*",
    "wild-deep-*"
  ]

  it("holds what the client may use", async () => {
    assert.deepStrictEqual(await listed({}), open)
    assert.deepStrictEqual(await listed({ path: "/models/", key: "all" }), [...open, "guarded"].sort())
    assert.deepStrictEqual(await listed({ key: "some" }), ["exact", "split", "wild-1"])
    assert.deepStrictEqual(await listed({ key: "pattern" }), ["wild-*", "wild-deep-*"])
    assert.deepStrictEqual(await listed({ key: "none" }), [])
  })
})

describe("a path that a provider could read as another one", () => {
  /** As it stands, which `fetch` would not send. */
  const raw = (path: string) =>
    new Promise<readonly [status: number | undefined, text: string]>((resolve, reject) => {
      const call = request(gate.url, { path, method: "POST" }, async (response) => {
        let text = ""
        for await (const chunk of response) text += chunk
        resolve([response.statusCode, text])
      })
      call.on("error", reject).end(chat("exact"))
    })

  for (const path of [
    "/v1/chat%2Fcompletions",
    "/v1/chat/completions%2F",
    "/v1/chat/completions;a:b=c",
    "/v1/chat/completions%3fa",
    "/v1/Chat/Completions",
    "/v1beta/models/exact%3AgenerateContent"
  ])
    it(`is refused: ${path}`, async () => {
      const before = upstream.asked.length
      assert.deepStrictEqual(await raw(path), [400, "failed to process LLM request: ambiguous path"])
      assert.strictEqual(upstream.asked.length, before)
    })

  for (const path of [
    "/v1/chat/completions;a=b",
    "/v1;a/chat/completions",
    "/chat/completions",
    "/chat/completions;a=b"
  ])
    it(`is handled as the conversation that it is: ${path}`, async () => {
      const [status] = await raw(path)
      assert.strictEqual(status, 200)
      assert.strictEqual(upstream.asked.at(-1)?.path, "/v1/chat/completions")
    })

  for (const path of ["/v1/chat\\completions", "/v1/x%2f..%2fchat/completions", "/v1/chat/completions/..;/x"])
    it(`is no path at all: ${path}`, async () => {
      const before = upstream.asked.length
      assert.strictEqual((await raw(path))[0], 400)
      assert.strictEqual(upstream.asked.length, before)
    })

  for (const path of [
    "//v1//chat/completions/",
    "/v1/chat/%63ompletions",
    "/v1/chat/completions/%2e",
    "/v1/chat/completions/x/%2E%2e/"
  ])
    it(`unless it is the same one: ${path}`, async () => {
      assert.strictEqual((await raw(path))[0], 200)
      assert.strictEqual(upstream.asked.at(-1)?.path, "/v1/chat/completions")
    })

  for (const path of ["/v1/files/a%20b", "/v1/files/...", "/v1/files/a.b", "/v1/files/%ff"])
    it(`unless it is of the same type: ${path}`, async () => assert.strictEqual((await raw(path))[0], 200))
})

describe("what a client reads where no model can serve it", () => {
  const form = (fields: string) => ({
    path: "/v1/images/edits",
    headers: { "content-type": "multipart/form-data; boundary=b" },
    body: fields
  })
  const field = (name: string, value: string) =>
    `--b\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${value}\r\n--b--\r\n`
  const bomb = Uint8Array.from(gzipSync(Buffer.alloc(8_000_000, " ")))

  const refusals: ReadonlyArray<readonly [status: number, code: string, message: string, ask: Ask]> = [
    [404, "model_not_found", "Model not found", { body: chat("nothing") }],
    [403, "model_authorization_denied", "Model authorization denied", { body: chat("guarded") }],
    [403, "model_not_allowed", "Model is not allowed for this API key", { body: chat("exact"), key: "none" }],
    [
      413,
      "request_body_too_large",
      "LLM request body exceeded the buffer limit",
      { body: chat("exact", { pad: "x".repeat(2_200_000) }) }
    ],
    [
      413,
      "request_body_too_large",
      "LLM request body exceeded the buffer limit",
      { body: bomb, headers: { "content-encoding": "gzip" } }
    ],
    [400, "invalid_request_body", "LLM request body must be valid JSON", { body: "{" }],
    [400, "invalid_request_body", "LLM multipart request body must be valid multipart/form-data", form("nothing")],
    [
      400,
      "invalid_request_body",
      "LLM multipart request body must be valid multipart/form-data",
      form(`${chat("guarded")}\r\n${field("model", "exact")}`)
    ],
    ...["/v1/chat/completions", "/v1/messages", "/v1/responses", "/v1/embeddings", "/v1/rerank"].map(
      (path) =>
        [
          400,
          "invalid_request_body",
          "LLM request body must be valid JSON",
          { ...form(field("model", "exact")), path }
        ] as const
    ),
    [400, "missing_model", "LLM request body is missing string field 'model'", { body: "{}" }],
    [400, "missing_model", "LLM request body is missing string field 'model'", { body: '{"model":1}' }],
    [400, "missing_model", "LLM request body is missing string field 'model'", { body: "[]" }],
    [400, "missing_model", "LLM multipart request body is missing string field 'model'", form(field("n", "1"))],
    [
      400,
      "invalid_model",
      "LLM multipart request body has invalid string field 'model'",
      {
        ...form(""),
        body: Uint8Array.from(
          Buffer.concat([
            Buffer.from(field("model", "!").split("!")[0]!),
            Buffer.from([0xff, 0xfe]),
            Buffer.from("\r\n--b--\r\n")
          ])
        )
      }
    ],
    [
      400,
      "request_body_decode_failed",
      "Failed to decode LLM request body",
      { body: "plain", headers: { "content-encoding": "gzip" } }
    ],
    [404, "virtual_model_not_resolved", "Virtual model nowhere could not be resolved", { body: chat("nowhere") }],
    [
      404,
      "virtual_model_target_not_found",
      "Virtual model refused selected target only-canary, but no matching model was found",
      { body: chat("refused") }
    ],
    [
      400,
      "virtual_model_no_matching_target",
      "Virtual model when did not match any conditional target",
      { body: chat("when") }
    ]
  ]
  for (const [status, code, message, ask] of refusals)
    it(`${status} ${code}: ${message}`, async () => {
      const found = await send(ask)
      assert.deepStrictEqual(
        { ...found, text: JSON.parse(found.text) },
        { status, type: "application/json", text: { error: { message, type: "invalid_request_error", code } } }
      )
    })

  const failures: ReadonlyArray<readonly [status: number, text: string, ask: Ask]> = [
    [415, "unsupported content encoding: odd", { body: chat("exact"), headers: { "content-encoding": "odd" } }],
    [405, "method not allowed", { method: "PUT", body: chat("exact") }],
    [
      400,
      "unsupported conversion: generateContent to completions, responses, embeddings, rerank, realtime",
      { path: "/v1beta/models/exact:generateContent", body: "{}" }
    ]
  ]
  for (const [status, text, ask] of failures)
    it(`${status} ${text}`, async () =>
      assert.deepStrictEqual(await send(ask), {
        status,
        type: "text/plain",
        text: `failed to process LLM request: ${text}`
      }))

  it("tells of every path which methods there are", async () => {
    for (const [path, allowed] of [
      ["/v1/chat/completions", "POST"],
      ["/v1/models", "GET, POST"]
    ] as const) {
      const refused = await fetch(`${gate.url}${path}`, { method: "PUT", body: chat("exact") })
      assert.deepStrictEqual([refused.status, refused.headers.get("allow")], [405, allowed])
    }
  })
})
