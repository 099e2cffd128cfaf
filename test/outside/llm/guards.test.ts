/** Guards over prompts and answers: regular expressions, and webhooks that are real HTTP servers. */

import type { ServerResponse } from "node:http"
import Anthropic from "@anthropic-ai/sdk"
import { assert, describe, it } from "@effect/vitest"
import { ApiError, GoogleGenAI } from "@google/genai"
import OpenAI from "openai"
import { afterAll, afterEach, beforeAll } from "vitest"
import { encodeSse } from "../../../src/protocols/llm/sse/encoder.ts"
import { upstreams } from "../../../src/protocols/llm/translate/laws/replies.ts"
import { freePort } from "../../free-ports.ts"
import { type Answering, chunks, completion, events, json, type Provider, startProvider } from "./provider.ts"
import { eventually, type Headgate, startHeadgate } from "./running.ts"

const usage = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 }

let upstream: Provider
let hook: Provider
let decide: Answering = (_, response) => json(response, { action: {} })
const gates: Array<Headgate> = []

/** The second window comes when the first one is judged. */
const twoWindows = async (response: ServerResponse) => {
  const window = (letter: string) =>
    `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: letter.repeat(1100) } }] })}\n\n`
  const judged = hook.asked.length
  response.writeHead(200, { "content-type": "text/event-stream" }).write(window("a"))
  await eventually(() => hook.asked[judged], "the first judgement")
  response.write(window("b"))
}

beforeAll(async () => {
  upstream = await startProvider((asked, response) =>
    asked.body.includes("two windows")
      ? twoWindows(response)
      : asked.body.includes("many words")
        ? events(response, chunks(600, undefined), 1)
        : asked.body.includes('"stream":true')
          ? events(response, [
              ...chunks(0, undefined).slice(0, 1),
              { choices: [{ index: 0, delta: { content: "mail bob@example.com" }, finish_reason: null }] },
              "[DONE]"
            ])
          : json(response, completion("mail bob@example.com", usage))
  )
  hook = await startProvider((asked, response) => decide(asked, response))
})

afterEach(async () => {
  for (const gate of gates.splice(0)) await gate.stop()
})

afterAll(async () => {
  await upstream.stop()
  await hook.stop()
})

/** A gateway whose one model has these guards; the webhook decides as told. */
const guarded = async (guardrails: string, answering?: Answering) => {
  if (answering !== undefined) decide = answering
  const gate = await startHeadgate(
    (port) => `
llm:
  port: ${port}
  guardrails: ${guardrails}
  models:
    - { name: m-1, provider: openai, params: { baseUrl: "${upstream.url}/v1" } }
`
  )
  gates.push(gate)
  const from = { hook: hook.asked.length, upstream: upstream.asked.length }
  const ask = async (content: string, extra: object = {}, headers: Record<string, string> = {}) => {
    const response = await fetch(`${gate.url}/v1/chat/completions?q=1`, {
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
      body: JSON.stringify({ model: "m-1", messages: [{ role: "user", content }], ...extra })
    })
    const text = await response.text()
    return { status: response.status, type: response.headers.get("content-type"), text }
  }
  return {
    gate,
    ask,
    /** What the webhook was asked since. */
    hooked: () => hook.asked.slice(from.hook),
    /** What the provider was asked since. */
    sent: () => upstream.asked.slice(from.upstream),
    checks: (phase: string, action: string) => gate.metric("guardrail_checks_total", { phase, action })
  }
}

const webhook = (phase: "request" | "response", more = "", host = `127.0.0.1:${hook.port}`, limit = "") =>
  `{ ${phase}: [{ webhook: { target: { host: "${host}"${limit} }${more} } }] }`
/** One that may not take long. */
const hurried = (more = "") => webhook("request", more, undefined, ", policies: { http: { requestTimeout: 300ms } }")

const failedRequest = "failed to process LLM request: prompt guard failed"
const failedResponse = "failed to process LLM response: prompt guard failed"
const content = (text: string) => JSON.parse(text).choices[0].message.content

describe("a guard webhook", () => {
  it("is posted the prompt, and lets it pass", async () => {
    const { ask, hooked, sent, checks } = await guarded(webhook("request"), (_, r) =>
      json(r, { action: { reason: "fine" } })
    )
    const { status } = await ask("hello", { temperature: 0.5 })
    assert.strictEqual(status, 200)
    const [call] = hooked()
    assert.strictEqual(call?.method, "POST")
    assert.strictEqual(call?.path, "/request")
    assert.strictEqual(call?.headers["content-type"], "application/json")
    assert.deepStrictEqual(JSON.parse(call?.body ?? ""), { body: { messages: [{ role: "user", content: "hello" }] } })
    assert.strictEqual(JSON.parse(sent()[0]?.body ?? "").temperature, 0.5)
    assert.strictEqual(await checks("Request", "Allow"), 1)
  })

  it("masks the prompt", async () => {
    const { ask, sent, checks } = await guarded(webhook("request"), (_, r) =>
      json(r, { action: { body: { messages: [{ role: "user", content: "masked" }] } } })
    )
    assert.strictEqual((await ask("secret")).status, 200)
    assert.deepStrictEqual(JSON.parse(sent()[0]?.body ?? "").messages, [{ role: "user", content: "masked" }])
    assert.strictEqual(await checks("Request", "Mask"), 1)
  })

  it("refuses the prompt in its own words", async () => {
    const { ask, sent, checks, gate } = await guarded(webhook("request"), (_, r) =>
      json(r, { action: { body: "not here", status_code: 422 } })
    )
    assert.deepStrictEqual(await ask("secret"), { status: 422, type: null, text: "not here" })
    assert.strictEqual(sent().length, 0)
    assert.strictEqual(await checks("Request", "Reject"), 1)
    assert.strictEqual(gate.requests[0]?.["reason"], "Guardrail")
  })

  it("looks at answers: pass, mask, refuse", async () => {
    const pass = await guarded(webhook("response"), (_, r) => json(r, { action: {} }))
    assert.strictEqual((await pass.ask("hello")).text, JSON.stringify(completion("mail bob@example.com", usage)))
    assert.strictEqual(pass.hooked()[0]?.path, "/response")
    assert.deepStrictEqual(JSON.parse(pass.hooked()[0]?.body ?? ""), {
      body: { choices: [{ message: { role: "assistant", content: "mail bob@example.com" } }] }
    })
    const mask = await guarded(webhook("response"), (_, r) =>
      json(r, { action: { body: { choices: [{ message: { role: "assistant", content: "mail <who>" } }] } } })
    )
    assert.strictEqual(content((await mask.ask("hello")).text), "mail <who>")
    assert.strictEqual(await mask.checks("Response", "Mask"), 1)
    const refuse = await guarded(webhook("response"), (_, r) =>
      json(r, { action: { body: "cannot say", status_code: 451 } })
    )
    assert.deepStrictEqual(await refuse.ask("hello"), { status: 451, type: null, text: "cannot say" })
    // What was used is counted all the same.
    assert.strictEqual(await refuse.gate.metric("gen_ai_client_token_usage_sum", { gen_ai_token_type: "output" }), 2)
  })

  it("changes nothing where it only audits", async () => {
    const { ask, sent, checks } = await guarded(webhook("request", ", action: audit"), (_, r) =>
      json(r, { action: { body: "not here", status_code: 403 } })
    )
    assert.strictEqual((await ask("secret")).status, 200)
    assert.deepStrictEqual(JSON.parse(sent()[0]?.body ?? "").messages, [{ role: "user", content: "secret" }])
    assert.strictEqual(await checks("Request", "Audit"), 1)
  })

  const broken: Readonly<Record<string, Answering>> = {
    "answers garbage": (_, r) => void r.writeHead(200).end("garbage"),
    "answers with a mask of the wrong shape": (_, r) => json(r, { action: { body: { messages: [{ role: 1 }] } } }),
    "breaks off": (_, r) => void r.writeHead(200, { "content-length": 100 }).write("{", () => r.destroy()),
    "takes too long": () => {},
    trickles: (_, r) => void r.writeHead(200, { "content-type": "application/json" }).write("{")
  }
  for (const [name, answering] of Object.entries(broken))
    it(`that ${name} fails closed or open, as configured`, async () => {
      const closed = await guarded(hurried(), answering)
      assert.deepStrictEqual(await closed.ask("hello"), { status: 503, type: "text/plain", text: failedRequest })
      assert.strictEqual(closed.sent().length, 0)
      const open = await guarded(hurried(", failureMode: failOpen"))
      assert.strictEqual((await open.ask("hello")).status, 200)
      assert.strictEqual(await open.checks("Request", "FailOpen"), 1)
    })

  it("that refuses connections fails closed or open, as configured, in both phases", async () => {
    const nobody = `127.0.0.1:${await freePort()}`
    const request = await guarded(webhook("request", "", nobody))
    assert.deepStrictEqual(await request.ask("hello"), { status: 503, type: "text/plain", text: failedRequest })
    const response = await guarded(webhook("response", "", nobody))
    assert.deepStrictEqual(await response.ask("hello"), { status: 503, type: "text/plain", text: failedResponse })
    const audit = await guarded(webhook("request", ", action: audit", nobody))
    assert.strictEqual((await audit.ask("hello")).status, 503)
    const open = await guarded(webhook("response", ", failureMode: failOpen", nobody))
    assert.strictEqual(content((await open.ask("hello")).text), "mail bob@example.com")
  })

  it("gets computed headers and path; what cannot be evaluated is left out", async () => {
    const headers = `, headers: { ":path": "'/v2/' + request.method", x-user: 'request.headers["x-user"]', x-model: llmRequest.model, x-missing: jwt.sub, x-path: request.path }`
    const { ask, hooked } = await guarded(webhook("request", headers), (_, r) => json(r, { action: {} }))
    await ask("hello", {}, { "x-user": "ann" })
    const [call] = hooked()
    assert.strictEqual(call?.path, "/v2/POST")
    assert.strictEqual(call?.headers["x-user"], "ann")
    assert.strictEqual(call?.headers["x-model"], "m-1")
    assert.strictEqual(call?.headers["x-path"], "/v1/chat/completions")
    assert.notProperty(call?.headers, "x-missing")
  })

  it("keeps its usual path where the expression fails, and sees no prompt with answers", async () => {
    const headers = `, headers: { ":path": jwt.path, x-model: llmRequest.model, x-user: 'request.headers["x-user"]' }`
    const { ask, hooked } = await guarded(webhook("response", headers), (_, r) => json(r, { action: {} }))
    await ask("hello", {}, { "x-user": "ann" })
    const [call] = hooked()
    assert.strictEqual(call?.path, "/response")
    assert.strictEqual(call?.headers["x-user"], "ann")
    assert.notProperty(call?.headers, "x-model")
  })

  it("ends with the client that went away", async () => {
    const { gate, hooked, sent } = await guarded(webhook("request"), () => {})
    const leaving = new AbortController()
    const call = fetch(`${gate.url}/v1/chat/completions`, {
      method: "POST",
      signal: leaving.signal,
      body: JSON.stringify({ model: "m-1", messages: [] })
    }).catch(() => undefined)
    await eventually(() => hooked()[0], "the call")
    leaving.abort()
    await call
    await eventually(() => hooked().find(({ hungUp }) => hungUp), "the end of the call")
    assert.strictEqual(sent().length, 0)
  })
})

describe("a regex guard", () => {
  const regex = (phase: string, action: string, rest = "") =>
    `{ ${phase}: [{ regex: { action: ${action}, rules: [{ builtin: email }] }${rest} }] }`

  it("masks prompts and answers", async () => {
    const request = await guarded(regex("request", "mask"))
    await request.ask("write to ann@example.com")
    assert.strictEqual(JSON.parse(request.sent()[0]?.body ?? "").messages[0].content, "write to <EMAIL_ADDRESS>")
    const response = await guarded(regex("response", "mask"))
    assert.strictEqual(content((await response.ask("hello")).text), "mail <EMAIL_ADDRESS>")
  })

  it("refuses with the configured answer", async () => {
    const usual = await guarded(regex("request", "reject"))
    const text = "request rejected due to inappropriate content"
    assert.deepStrictEqual(await usual.ask("ann@example.com"), { status: 403, type: null, text })
    assert.strictEqual((await usual.ask("hello")).status, 200)
    const own = await guarded(
      regex("response", "reject", `, rejection: { status: 418, body: no, headers: { set: { content-type: text/x } } }`)
    )
    assert.deepStrictEqual(await own.ask("hello"), { status: 418, type: "text/x", text: "no" })
  })

  it("only counts where it audits", async () => {
    const { ask, checks } = await guarded(regex("request", "audit"))
    assert.strictEqual((await ask("ann@example.com")).status, 200)
    assert.strictEqual(await checks("Request", "Audit"), 1)
  })

  it("does not mask streamed answers, but still looks at the prompts of streams", async () => {
    const response = await guarded(regex("response", "mask"))
    assert.include((await response.ask("hello", { stream: true })).text, "mail bob@example.com")
    const request = await guarded(regex("request", "reject"))
    assert.strictEqual((await request.ask("ann@example.com", { stream: true })).status, 403)
  })

  it("and what it read is what is sent; what others might read otherwise is refused", async () => {
    const { gate, sent } = await guarded(regex("request", "reject"))
    const post = async (body: string) => {
      const response = await fetch(`${gate.url}/v1/chat/completions`, { method: "POST", body })
      return { status: response.status, text: await response.text() }
    }
    await post('{ "model": "m-1", "messages": [{"role":"user","content":"h\\u0065llo"}] }')
    assert.strictEqual(sent()[0]?.body, '{"model":"m-1","messages":[{"role":"user","content":"hello"}]}')
    for (const body of [
      '{"model":"m-1","messages":[{"role":"user","content":"ann@example.com","content":"hello"}]}',
      '{"model":"m-1","messages":[],"\\u006dessages":[]}',
      `{"model":"m-1","messages":[],"deep":${"[".repeat(300)}${"]".repeat(300)}}`
    ])
      assert.deepStrictEqual(await post(body), { status: 400, text: "the request cannot be read" }, body)
    // A pattern of names in a schema.
    const schema = { patternProperties: { "^\\d+$": { type: "string" } } }
    const tools = [{ type: "function", function: { name: "f", parameters: schema } }]
    assert.strictEqual((await post(JSON.stringify({ model: "m-1", messages: [], tools }))).status, 200)
    assert.deepStrictEqual(JSON.parse(sent()[1]?.body ?? "").tools, tools)
    assert.strictEqual(sent().length, 2)
  })

  it("comes before the next one, which sees what it left", async () => {
    const both = `{ request: [{ regex: { action: mask, rules: [{ builtin: email }] } }, { webhook: { target: { host: "127.0.0.1:${hook.port}" } } }] }`
    const { ask, hooked } = await guarded(both, (_, r) => json(r, { action: {} }))
    await ask("ann@example.com")
    assert.include(hooked()[0]?.body, "<EMAIL_ADDRESS>")
  })
})

describe("a guard of streams", () => {
  const streamed = { stream: true }
  const blocked = (message: string) =>
    `data: ${JSON.stringify({ error: { type: "guardrail_blocked", code: "guardrail_intervention", message } })}\n\n`

  it("stops a stream at what it finds, and says so", async () => {
    const { ask, checks, gate } = await guarded(
      "{ streaming: Enabled, response: [{ regex: { action: reject, rules: [{ builtin: email }] }, rejection: { body: stopped } }] }"
    )
    const { status, type, text } = await ask("hello", streamed)
    assert.deepStrictEqual({ status, type, text }, { status: 200, type: "text/event-stream", text: blocked("stopped") })
    assert.strictEqual(await checks("Response", "Reject"), 1)
    await eventually(() => gate.requests[0], "the line of the request")
    const { error, reason } = gate.requests[0]!
    assert.deepStrictEqual([error, reason], ["rejected by a guard", "Guardrail"])
  })

  it("lets windows go until then", async () => {
    const guard = (pattern: string) =>
      `{ streaming: Enabled, response: [{ regex: { action: reject, rules: [{ pattern: "${pattern}" }] } }] }`
    const late = await guarded(guard("w300 w301"))
    const { text } = await late.ask("many words", streamed)
    assert.include(text, '"w0 "')
    assert.notInclude(text, '"w300 "')
    assert.isTrue(text.endsWith(blocked("request rejected due to inappropriate content")))
    await eventually(() => late.sent().find(({ hungUp }) => hungUp), "the provider's call to end")
    const never = await guarded(guard("nowhere"))
    const whole = await never.ask("many words", streamed)
    assert.strictEqual(
      whole.text,
      chunks(600, undefined)
        .map((one) => `data: ${typeof one === "string" ? one : JSON.stringify(one)}\n\n`)
        .join("")
    )
    assert.isAbove(await never.checks("Response", "Allow"), 1)
  })

  it("asks a webhook for each window, and fails as configured", async () => {
    const passing = await guarded(webhook("response").replace("{", "{ streaming: Enabled,"), (_, r) =>
      json(r, { action: {} })
    )
    assert.include((await passing.ask("hello", streamed)).text, "data: [DONE]")
    assert.deepStrictEqual(JSON.parse(passing.hooked()[0]?.body ?? ""), {
      body: { choices: [{ message: { role: "assistant", content: "mail bob@example.com" } }] }
    })
    const failing = await guarded(
      webhook("response").replace("{", "{ streaming: Enabled,"),
      (_, r) => void r.writeHead(200).end("garbage")
    )
    assert.strictEqual((await failing.ask("hello", streamed)).text, blocked("Content blocked by guardrail policy"))
  })

  it("ends with the client that leaves in the middle, as do the provider and the webhook; what was said is charged once", async () => {
    const { gate, hooked, sent } = await guarded(
      webhook("response").replace("{", "{ streaming: Enabled,"),
      (asked, r) => (asked.body.includes("bbbb") ? undefined : json(r, { action: {} }))
    )
    const leaving = new AbortController()
    const answer = await fetch(`${gate.url}/v1/chat/completions`, {
      method: "POST",
      signal: leaving.signal,
      body: JSON.stringify({ model: "m-1", messages: [{ role: "user", content: "two windows" }], ...streamed })
    })
    const { value } = await answer.body!.getReader().read()
    assert.include(new TextDecoder().decode(value), "aaaa")
    await eventually(() => hooked()[1], "the call that is not answered")
    leaving.abort()
    await eventually(() => [...hooked(), ...sent()].filter(({ hungUp }) => hungUp)[1], "the end of both")
    await eventually(() => gate.requests[0], "the line of the request")
    const line = gate.requests[0]!
    assert.strictEqual(line["hg.ai.usage.estimated"], true)
    assert.strictEqual(line["gen_ai.usage.output_tokens"], 2)
    assert.strictEqual(await gate.metric("gen_ai_client_token_usage_sum", { gen_ai_token_type: "output" }), 2)
    assert.strictEqual(await gate.metric("gen_ai_client_token_usage_count", { gen_ai_token_type: "output" }), 1)
  })
})

describe("the official client", () => {
  const clients: Readonly<
    Record<
      "completions" | "messages" | "responses" | "generateContent",
      (url: string) => Promise<AsyncIterable<unknown>>
    >
  > = {
    completions: (url) =>
      new OpenAI({ baseURL: `${url}/v1`, apiKey: "k", maxRetries: 0 }).chat.completions.create({
        model: "openai",
        stream: true,
        messages: [{ role: "user", content: "hello" }]
      }),
    messages: (url) =>
      new Anthropic({ baseURL: url, apiKey: "k", maxRetries: 0 }).messages.create({
        model: "anthropic",
        stream: true,
        max_tokens: 9,
        messages: [{ role: "user", content: "hello" }]
      }),
    responses: (url) =>
      new OpenAI({ baseURL: `${url}/v1`, apiKey: "k", maxRetries: 0 }).responses.create({
        model: "openai",
        stream: true,
        input: "hello"
      }),
    generateContent: (url) =>
      new GoogleGenAI({
        apiKey: "AIzaClient",
        httpOptions: { baseUrl: url, apiVersion: "v1beta" }
      }).models.generateContentStream({ model: "gemini", contents: "hello" })
  }
  const errors = {
    completions: OpenAI.APIError,
    messages: Anthropic.APIError,
    responses: OpenAI.APIError,
    generateContent: ApiError
  }

  for (const format of ["completions", "messages", "responses", "generateContent"] as const)
    it(`of ${format} is told an error where a guard cuts its stream`, async () => {
      const reply = { calls: [], ending: "end", input: 1, output: 2, text: `${"a".repeat(1200)} stop here` } as const
      const spoken = upstreams[format]!.events(reply, [1200])
      const provider = await startProvider((_, response) => {
        response.writeHead(200, { "content-type": "text/event-stream" })
        for (const event of spoken) if ("data" in event) response.write(encodeSse(event))
        response.end()
      })
      const rule =
        "{ streaming: Enabled, response: [{ regex: { action: reject, rules: [{ pattern: stop }] }, rejection: { body: no such talk } }] }"
      const gate = await startHeadgate(
        (port) => `
llm:
  port: ${port}
  guardrails: ${rule}
  models:
    - { name: openai, provider: openai, params: { apiKey: k, baseUrl: "${provider.url}/v1" } }
    - { name: anthropic, provider: anthropic, params: { apiKey: k, baseUrl: "${provider.url}/v1" } }
    - { name: gemini, provider: gemini, params: { apiKey: k, baseUrl: "${provider.url}" } }
`
      )
      try {
        const stream = await clients[format](gate.url)
        let read = ""
        const failed = await (async () => {
          for await (const one of stream) read += JSON.stringify(one)
        })().catch((error: unknown) => error)
        assert.isTrue(failed instanceof errors[format], String(failed))
        assert.include((failed as Error).message, "no such talk")
        assert.notInclude(read, "stop")
      } finally {
        await gate.stop()
        await provider.stop()
      }
    })
})
