/** What calls used and cost: read from copies of what passes, and not to be evaded. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { request } from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { brotliCompressSync, gzipSync } from "node:zlib"
import { assert, describe, it } from "@effect/vitest"
import { afterAll, beforeAll } from "vitest"
import { chunks, completion, events, json, type Provider, startProvider } from "./provider.ts"
import { eventually, type Headgate, startHeadgate } from "./running.ts"

const folder = mkdtempSync(join(tmpdir(), "headgate-catalog-"))
const catalogFile = join(folder, "catalog.json")
const priced = (input: string) =>
  JSON.stringify({ providers: { openai: { models: { "file-1": { rates: { input } } } } } })

const usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15, prompt_tokens_details: { cached_tokens: 4 } }

let upstream: Provider
let gate: Headgate

beforeAll(async () => {
  upstream = await startProvider((asked, response) => {
    const body = asked.body.startsWith("{") ? (JSON.parse(asked.body) as Record<string, unknown>) : {}
    const model = String(body["model"])
    const kind = asked.headers["x-kind"]
    if (kind === "failing") return json(response, { error: { message: "no" } }, 500)
    if (body["stream"] === true) {
      const options = body["stream_options"] as { include_usage?: boolean } | undefined
      const told = options?.include_usage === true ? usage : undefined
      if (kind === "gzip") {
        const text = chunks(5, told, model).map(
          (one) => `data: ${typeof one === "string" ? one : JSON.stringify(one)}\n\n`
        )
        response.writeHead(200, { "content-type": "text/event-stream", "content-encoding": "gzip" })
        response.end(gzipSync(text.join("")))
        return
      }
      return events(response, chunks(kind === "slow" ? 200 : 5, told, model), kind === "slow" ? 10 : 0)
    }
    if (kind === "long") {
      // All but the end, where the usage stands.
      const long = JSON.stringify(completion("word ".repeat(8_000), usage, model))
      return void response.writeHead(200, { "content-type": "application/json" }).write(long.slice(0, -200))
    }
    const text = JSON.stringify(completion("fine", usage, model))
    if (kind === "br")
      return void response
        .writeHead(200, { "content-type": "application/json", "content-encoding": "br" })
        .end(brotliCompressSync(text))
    if (kind === "odd")
      return void response.writeHead(200, { "content-type": "application/json", "content-encoding": "odd" }).end(text)
    response.writeHead(200, { "content-type": "application/json" }).end(text)
  })
  writeFileSync(catalogFile, priced("1"))
  const params = `params: { baseUrl: "${upstream.url}/v1" }`
  gate = await startHeadgate(
    (port) => `
config:
  modelCatalog:
    - file: ${catalogFile}
    - inline:
        providers:
          openai:
            models:
              m-1: { rates: { input: "1", output: "10", cacheRead: "0.5" } }
    - inline: '{"providers":{"openai":{"models":{"any-2":{"rates":{"input":"2"}}}}}}'
llm:
  port: ${port}
  models:
    - { name: m-1, provider: openai, ${params} }
    - { name: pinned, provider: openai, params: { baseUrl: "${upstream.url}/v1", model: m-1 } }
    - { name: file-1, provider: openai, ${params} }
    - { name: "any-*", provider: openai, ${params} }
`
  )
})

afterAll(async () => {
  await gate.stop()
  await upstream.stop()
  rmSync(folder, { recursive: true })
})

const post = (
  body: unknown,
  { path = "/v1/chat/completions", kind = "", headers = {} as Record<string, string> } = {}
) =>
  fetch(`${gate.url}${path}`, {
    method: "POST",
    headers: { "content-type": "application/json", "x-kind": kind, ...headers },
    body: typeof body === "string" ? body : JSON.stringify(body)
  })

const ask = (more: object = {}) => ({ model: "m-1", messages: [{ role: "user", content: "hello" }], ...more })

/** What the gateway counts while something happens. */
const counted = async (happens: () => Promise<unknown>) => {
  const read = async () => ({
    input: await gate.metric("gen_ai_client_token_usage_sum", { gen_ai_token_type: "input" }),
    output: await gate.metric("gen_ai_client_token_usage_sum", { gen_ai_token_type: "output" }),
    cost: await gate.metric("gen_ai_client_cost_usd_total")
  })
  const before = await read()
  const lines = gate.requests.length
  await happens()
  await eventually(() => (gate.requests.length > lines ? true : undefined), "the access log")
  const after = await read()
  return {
    input: after.input - before.input,
    output: after.output - before.output,
    cost: Number((after.cost - before.cost).toFixed(9)),
    line: gate.requests.at(-1)!
  }
}

/** 6 plain and 4 cached input tokens, 5 output tokens. */
const usual = { input: 10, output: 5, cost: 0.000058 }
const sums = ({ input, output, cost }: Awaited<ReturnType<typeof counted>>) => ({ input, output, cost })

describe("accounting", () => {
  it("reads usage from a copy of a plain answer, which passes byte for byte", async () => {
    const found = await counted(async () =>
      assert.strictEqual(await (await post(ask())).text(), JSON.stringify(completion("fine", usage)))
    )
    assert.deepStrictEqual(sums(found), usual)
    assert.deepInclude(found.line, {
      "gen_ai.operation.name": "chat",
      "gen_ai.provider.name": "openai",
      "gen_ai.request.model": "m-1",
      "gen_ai.response.model": "m-1",
      "gen_ai.usage.input_tokens": 10,
      "gen_ai.usage.cache_read.input_tokens": 4,
      "gen_ai.usage.output_tokens": 5,
      "hg.ai.usage.cost.total": "0.000058"
    })
  })

  it("labels its series as documented", async () => {
    await (await post(ask())).text()
    const line = (await gate.scrape())
      .split("\n")
      .find((line) => line.startsWith("headgate_gen_ai_client_token_usage_sum") && line.includes('"input_cache_read"'))
    const names = [...(line ?? "").matchAll(/(\w+)="/g)].map(([, name]) => name)
    assert.deepStrictEqual(names, [
      "gen_ai_token_type",
      "gen_ai_operation_name",
      "gen_ai_system",
      "gen_ai_request_model",
      "gen_ai_response_model",
      "bind",
      "gateway",
      "listener",
      "route",
      "route_rule"
    ])
    assert.include(line, 'gen_ai_operation_name="chat",gen_ai_system="openai",gen_ai_request_model="m-1"')
    for (const family of ["server_request_duration", "server_time_to_first_token", "server_time_per_output_token"])
      assert.include(await gate.scrape(), `headgate_gen_ai_${family}`)
  })

  it("counts a call that no provider answered under the name in the file, which no client makes up", async () => {
    const durations = (model: string) =>
      gate.metric("gen_ai_server_request_duration_count", { gen_ai_request_model: model })
    const [named, madeUp] = [await durations("any-*"), await durations("any-made-up")]
    await counted(async () => (await post(ask({ model: "any-made-up" }), { kind: "failing" })).text())
    assert.deepStrictEqual([await durations("any-*"), await durations("any-made-up")], [named + 1, madeUp])
    await counted(async () => (await post(ask({ model: "any-made-up" }))).text())
    assert.deepStrictEqual([await durations("any-*"), await durations("any-made-up")], [named + 1, madeUp + 1])
  })

  it("asks a stream for its usage where the client did not, and changes no other byte", async () => {
    const text = `{ "messages": [{"role":"user","content":"h\\u0065llo"}],  "stream": true, "seed": 12345678901234567890, "model": "m-1" }`
    const found = await counted(async () => assert.include(await (await post(text)).text(), '"prompt_tokens":10'))
    assert.deepStrictEqual(sums(found), usual)
    assert.strictEqual(upstream.asked.at(-1)?.body, text.replace("{ ", '{"stream_options":{"include_usage":true}, '))
    assert.isAbove(Number(found.line["hg.ai.time_to_first_token"]), 0)
  })

  it("looks up what the provider was asked for, and tells how lookups went", async () => {
    assert.deepStrictEqual(sums(await counted(async () => (await post(ask({ model: "pinned" }))).text())), usual)
    const misses = () => gate.metric("cost_catalog_lookups_total", { status: "Missing" })
    const before = await misses()
    const missing = await counted(async () => (await post(ask({ model: "any-1" }))).text())
    assert.strictEqual(missing.cost, 0)
    assert.isUndefined(missing.line["hg.ai.usage.cost.total"])
    assert.strictEqual(await misses(), before + 1)
    const wildcard = await counted(async () => (await post(ask({ model: "any-2" }))).text())
    assert.strictEqual(wildcard.cost, 0.00002)
  })

  it("takes over a catalogue file that changes, and keeps the last good one", async () => {
    const cost = async () => (await counted(async () => (await post(ask({ model: "file-1" }))).text())).cost
    assert.strictEqual(await cost(), 0.00001)
    writeFileSync(catalogFile, priced("3"))
    await eventually(() => gate.messages.find((line) => line.includes("reloaded the model catalogue")), "the reload")
    assert.strictEqual(await cost(), 0.00003)
    writeFileSync(catalogFile, '{"providers":{"openai":{"models":{"file-1":{"rates":{"input":3}}}}}}')
    await eventually(() => gate.messages.find((line) => line.includes("could not be reloaded")), "the refusal")
    assert.strictEqual(await cost(), 0.00003)
  })
})

describe("evasions of the accounting", () => {
  const evasions: Readonly<Record<string, () => Promise<unknown>>> = {
    "a repeated model key": async () => {
      const text = await (await post('{"model":"any-free","messages":[],"model":"m-1"}')).text()
      assert.include(text, '"model":"m-1"')
      assert.strictEqual(upstream.asked.at(-1)?.body, '{"model":"m-1","messages":[]}')
    },
    "a repeated stream key": async () => {
      await (await post('{"stream":true,"model":"m-1","messages":[],"stream":false}')).text()
      assert.strictEqual(upstream.asked.at(-1)?.body, '{"stream":false,"model":"m-1","messages":[]}')
    },
    "a model key in escapes": async () => {
      await (await post('{"model":"any-free","messages":[],"mod\\u0065l":"m-1"}')).text()
      assert.strictEqual(upstream.asked.at(-1)?.body, '{"model":"m-1","messages":[]}')
    },
    "a stream that is told to hide its usage": async () => {
      await (await post(ask({ stream: true, stream_options: { include_usage: false, other: 1 } }))).text()
      assert.deepStrictEqual(JSON.parse(upstream.asked.at(-1)?.body ?? "").stream_options, {
        include_usage: true,
        other: 1
      })
    },
    "a compressed answer": async () => {
      const text = await (await post(ask(), { kind: "br", headers: { "accept-encoding": "br" } })).text()
      assert.strictEqual(text, JSON.stringify(completion("fine", usage)))
      assert.strictEqual(upstream.asked.at(-1)?.headers["accept-encoding"], "identity")
    },
    "a compressed stream": async () =>
      assert.include(await (await post(ask({ stream: true }), { kind: "gzip" })).text(), "data: [DONE]"),
    "a path that nobody knows": async () => (await post(ask(), { path: "/v1/chat/completions-next" })).text(),
    "a path with slashes that providers forgive": async () =>
      (await post(ask({ stream: true }), { path: "/v1//chat/completions/" })).text(),
    "a body without a length": () =>
      new Promise<void>((resolve, reject) => {
        const call = request(
          `${gate.url}/v1/chat/completions`,
          { method: "POST", headers: { "content-type": "application/json" } },
          (answer) => answer.on("end", resolve).resume()
        )
        call.on("error", reject)
        call.write('{"model":"m-1",')
        call.end('"messages":[]}')
      }),
    "a compressed request": async () => {
      const response = await fetch(`${gate.url}/v1/chat/completions`, {
        method: "POST",
        headers: { "content-type": "application/json", "content-encoding": "gzip" },
        body: gzipSync(JSON.stringify(ask()))
      })
      assert.strictEqual(response.status, 200)
      assert.strictEqual(upstream.asked.at(-1)?.body, JSON.stringify(ask()))
      await response.text()
    }
  }
  for (const [name, happens] of Object.entries(evasions))
    it(`${name} is counted`, async () => assert.deepStrictEqual(sums(await counted(happens)), usual))

  it("an answer whose coding nobody can undo is refused", async () => {
    const response = await post(ask(), { kind: "odd" })
    assert.strictEqual(response.status, 502)
    assert.strictEqual(await response.text(), "failed to process LLM response: unsupported content encoding: odd")
  })

  it("who leaves before the last chunk is charged for what passed", async () => {
    const found = await counted(async () => {
      const leaving = new AbortController()
      const response = await fetch(`${gate.url}/v1/chat/completions`, {
        method: "POST",
        signal: leaving.signal,
        headers: { "x-kind": "slow" },
        body: JSON.stringify(ask({ stream: true }))
      })
      const reader = response.body!.getReader()
      for (let i = 0; i < 10; i++) await reader.read()
      leaving.abort()
    })
    assert.isAtLeast(found.output, 10)
    assert.isBelow(found.output, 100)
    assert.isAbove(found.cost, 0)
    assert.strictEqual(found.line["hg.ai.usage.estimated"], true)
  })

  it("who leaves an answer in one piece before its end is charged as well", async () => {
    const found = await counted(async () => {
      const leaving = new AbortController()
      const response = await fetch(`${gate.url}/v1/chat/completions`, {
        method: "POST",
        signal: leaving.signal,
        headers: { "x-kind": "long" },
        body: JSON.stringify(ask())
      })
      const reader = response.body!.getReader()
      for (let bytes = 0; bytes < 39_000; ) bytes += (await reader.read()).value?.length ?? 0
      leaving.abort()
    })
    assert.isAtLeast(found.output, 9_000)
    assert.isAtMost(found.output, 11_000)
    assert.isAbove(found.cost, 0)
    assert.strictEqual(found.line["hg.ai.usage.estimated"], true)
  })
})

describe("the ledger", () => {
  it("is the sum of what each request cost, however the requests end", async () => {
    const before = await gate.metric("gen_ai_client_cost_usd_total")
    const lines = gate.requests.length
    const calls = Array.from({ length: 60 }, async (_, i) => {
      const leaving = new AbortController()
      const kind = i % 7 === 3 ? "failing" : i % 5 === 1 ? "slow" : ""
      try {
        const response = await fetch(`${gate.url}/v1/chat/completions`, {
          method: "POST",
          signal: leaving.signal,
          headers: { "x-kind": kind },
          body: JSON.stringify(ask({ stream: i % 2 === 0, model: i % 3 === 0 ? "pinned" : "m-1" }))
        })
        if (i % 4 === 0) setTimeout(() => leaving.abort(), i)
        await response.text()
      } catch {
        // Those who left.
      }
    })
    await Promise.all(calls)
    await eventually(() => (gate.requests.length >= lines + 60 ? true : undefined), "all requests to end")
    assert.lengthOf(gate.requests, lines + 60)
    const each = gate.requests.slice(lines).map((line) => Number(line["hg.ai.usage.cost.total"] ?? 0))
    const sum = each.reduce((a, b) => a + b, 0)
    assert.isAbove(sum, 0)
    assert.closeTo((await gate.metric("gen_ai_client_cost_usd_total")) - before, sum, 1e-12)
  })
})
