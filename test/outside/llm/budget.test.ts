/** The token budget of a route: an estimate at admission, the real count after the answer. */
import { assert, describe, it } from "@effect/vitest"
import { afterAll, afterEach, beforeAll } from "vitest"
import { chunks, completion, events, json, type Provider, startProvider } from "./provider.ts"
import { eventually, type Headgate, startHeadgate } from "./running.ts"

let upstream: Provider
const gates: Array<Headgate> = []

/** Answers with the usage that the prompt names: `in/out`. */
const usageOf = (body: string) => {
  const [input = 0, output = 0] = (/(\d+)\/(\d+)/.exec(body)?.slice(1) ?? []).map(Number)
  return { prompt_tokens: input, completion_tokens: output, total_tokens: input + output }
}

beforeAll(async () => {
  upstream = await startProvider((asked, response) => {
    if (asked.body.includes("failing")) return json(response, { error: { message: "no" } }, 500)
    if (asked.body.includes('"stream":true')) return events(response, chunks(100, usageOf(asked.body)), 5)
    return json(response, completion("fine", usageOf(asked.body)))
  })
})

afterEach(async () => {
  for (const gate of gates.splice(0)) await gate.stop()
})

afterAll(async () => {
  await upstream.stop()
})

const limited = async (limit: string, more = "", params = "") => {
  const gate = await startHeadgate(
    (port) => `
llm:
  port: ${port}
  models:
    - { name: m-1, provider: openai, params: { baseUrl: "${upstream.url}/v1"${params} }${more} }
  policies:
    localRateLimit: [${limit}]
`
  )
  gates.push(gate)
  const ask = (content: string, extra: object = {}, path = "/v1/chat/completions") =>
    fetch(`${gate.url}${path}`, {
      method: "POST",
      body: JSON.stringify({ model: "m-1", messages: [{ role: "user", content }], ...extra })
    })
  const remaining = async (content: string) => {
    const response = await ask(content)
    await response.text()
    return Number(response.headers.get("x-ratelimit-remaining"))
  }
  return { gate, ask, remaining }
}

const hour = "{ maxTokens: 100, tokensPerFill: 100, fillInterval: 1h, type: tokens }"

describe("a token budget", () => {
  it("charges an estimate at admission, and settles it after the answer", async () => {
    const { remaining } = await limited(hour)
    // A quarter of the bytes of `10/20`, rounded up.
    assert.strictEqual(await remaining("10/20"), 98)
    // 100 - 30 - 2.
    assert.strictEqual(await remaining("10/20"), 68)
    assert.strictEqual(await remaining("1/0"), 39)
  })

  it("lets the request that crosses it succeed, and refuses the next one without calling the provider", async () => {
    const { ask } = await limited(hour)
    const crossing = await ask("90/900")
    assert.strictEqual(crossing.status, 200)
    await crossing.text()
    const calls = upstream.asked.length
    const refused = await ask("1/1")
    assert.strictEqual(refused.status, 429)
    assert.strictEqual(await refused.text(), "rate limit exceeded")
    assert.strictEqual(refused.headers.get("content-type"), "text/plain")
    assert.strictEqual(refused.headers.get("x-ratelimit-limit"), "100")
    assert.strictEqual(refused.headers.get("x-ratelimit-remaining"), "0")
    assert.isAbove(Number(refused.headers.get("x-ratelimit-reset")), 3500)
    assert.strictEqual(upstream.asked.length, calls)
  })

  it("does not interrupt a stream that crosses it", async () => {
    const { ask } = await limited(hour)
    const text = await (await ask("200/200", { stream: true })).text()
    assert.include(text, "data: [DONE]")
    assert.strictEqual((await ask("1/1")).status, 429)
  })

  it("is filled again when its window resets", async () => {
    const { ask } = await limited("{ maxTokens: 50, tokensPerFill: 50, fillInterval: 3s, type: tokens }")
    await (await ask("90/9")).text()
    assert.strictEqual((await ask("1/1")).status, 429)
    await eventually(async () => ((await ask("1/1")).status === 200 ? true : undefined), "the next fill")
  })

  it("gives back what a call that failed had reserved", async () => {
    const { ask, remaining } = await limited(hour)
    for (let i = 0; i < 3; i++) await (await ask("failing, and of some length")).text()
    assert.strictEqual(await remaining("1/0"), 99)
  })

  it("gives back what a request that a guard refused had reserved", async () => {
    const { ask, remaining } = await limited(
      hour,
      ", guardrails: { request: [{ regex: { action: reject, rules: [{ pattern: forbidden }] } }] }"
    )
    assert.strictEqual((await ask("forbidden, and of some length")).status, 403)
    assert.strictEqual(await remaining("1/0"), 99)
  })

  it("charges who leaves a stream for what passed", async () => {
    const { gate, ask, remaining } = await limited(hour)
    const leaving = new AbortController()
    const response = await fetch(`${gate.url}/v1/chat/completions`, {
      method: "POST",
      signal: leaving.signal,
      body: JSON.stringify({ model: "m-1", stream: true, messages: [{ role: "user", content: "500/500" }] })
    })
    const reader = response.body!.getReader()
    for (let i = 0; i < 20; i++) await reader.read()
    leaving.abort()
    await eventually(() => gate.requests[0], "the end of the request")
    assert.isAtMost(await remaining("1/0"), 80)
    assert.strictEqual((await ask("1/0")).status, 200)
  })

  it("counts tokens where it is told to, and what does not fit is refused", async () => {
    const { ask, remaining } = await limited(hour, "", ", tokenize: true")
    // 3 for the answer, 4 for the message, and one token for each of these words.
    assert.strictEqual(await remaining("one two three"), 90)
    const words = "word ".repeat(100).trim()
    assert.strictEqual((await ask(words)).status, 429)
    // An estimate of a quarter of its bytes would have passed the second time.
    assert.strictEqual((await (await limited(hour)).ask(words)).status, 200)
  })

  it("holds on paths that nobody knows, and does not on the counting of tokens", async () => {
    const { ask } = await limited(hour)
    await (await ask("90/90", {}, "/v1/unknown")).text()
    assert.strictEqual((await ask("1/1", {}, "/v1/unknown")).status, 429)
    const counted = await ask("1/1", {}, "/v1/messages/count_tokens")
    assert.strictEqual(counted.status, 200)
    assert.isNumber(((await counted.json()) as { readonly input_tokens: number }).input_tokens)
  })

  it("may tell its callers apart by what the model request says", async () => {
    const { ask } = await limited(hour.replace(" }", ", key: llmRequest.user }"))
    await (await ask("90/90", { user: "a" })).text()
    assert.strictEqual((await ask("1/1", { user: "a" })).status, 429)
    assert.strictEqual((await ask("1/1", { user: "b" })).status, 200)
  })
})
