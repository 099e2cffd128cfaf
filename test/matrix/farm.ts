/**
 * The providers of the matrix: `@copilotkit/aimock`, and before it a front that knows the hosts which aimock does not play itself. The front
 * maps their paths to those of the same API that aimock serves, keeps what was sent, and breaks streams on demand.
 */
import { Buffer } from "node:buffer"
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import { LLMock } from "@copilotkit/aimock"
import { EventStreamCodec } from "@smithy/eventstream-codec"
import { breaks, refusals, scenarios, used } from "./scenarios.ts"
import { counted, ranking, vector } from "./services.ts"

/** What a provider got. */
export interface Sent {
  readonly provider: string
  /** Path and query, without the prefix that names the provider. */
  readonly path: string
  readonly headers: IncomingMessage["headers"]
  readonly body: string
}

export interface Farm {
  /** Address of a provider: everything below it belongs to it. */
  readonly url: (provider: string) => string
  readonly sent: () => ReadonlyArray<Sent>
  /** The last conversation as aimock has understood it. */
  readonly heard: () => unknown
  readonly stop: () => Promise<void>
}

/** Token counts of every answer, by the names of every provider. */
const usage = {
  prompt_tokens: used.input,
  completion_tokens: used.output,
  input_tokens: used.input,
  output_tokens: used.output,
  promptTokenCount: used.input,
  candidatesTokenCount: used.output,
  total_tokens: used.input + used.output,
  totalTokenCount: used.input + used.output
}

const finish = { end: "stop", tools: "tool_calls", length: "length" } as const

const stock = (farm: LLMock): LLMock => {
  for (const { question, says } of scenarios) {
    const last = question.turns.findLast((turn) => "user" in turn)
    const toolCalls = says.calls.map(({ name, input }, index) => ({
      id: `call_${index}`,
      name,
      arguments: JSON.stringify(input)
    }))
    farm.on(
      {
        userMessage: last?.user ?? ""
      },
      toolCalls.length === 0
        ? {
            content: says.text,
            ...(says.reasoning !== undefined && { reasoning: says.reasoning }),
            finishReason: finish[says.ending],
            usage
          }
        : says.text === ""
          ? { toolCalls, usage }
          : { content: says.text, toolCalls, usage }
    )
  }
  for (const { prompt, status, message } of refusals) farm.onMessage(prompt, { error: { message }, status })
  for (const { prompt } of breaks) farm.onMessage(prompt, { content: "This will not be whole, as you see.", usage })
  return farm.onEmbedding("embed me", { embedding: vector }).onRerank("best", ranking)
}

type Json = Readonly<Record<string, unknown>>

/** How the front reaches aimock for paths that aimock does not know: another path, and perhaps another body. */
const paths: ReadonlyArray<readonly [path: RegExp, to: string, body?: (body: Json, path: RegExpExecArray) => Json]> = [
  [/^\/(?:anthropic\/)?v1\/messages$/, "/v1/messages"],
  [/^\/messages$/, "/v1/messages"],
  [/\/rerank$/, "/v2/rerank"],
  [/^\/v1\/projects\/[^/]+\/locations\/[^/]+\/endpoints\/openapi\/chat\/completions$/, "/v1/chat/completions"],
  [
    /\/publishers\/anthropic\/models\/([^/:]+):(?:streamR|r)awPredict$/,
    "/v1/messages",
    (body, [, model]) => ({ ...body, model })
  ]
]

/** The events of a stream, each with the bytes around it. */
const framesOf = (type: string, bytes: Buffer): ReadonlyArray<Buffer> => {
  const frames: Array<Buffer> = []
  for (let at = 0; at < bytes.length; ) {
    const blank = bytes.indexOf("\n\n", at)
    const end = type.includes("eventstream") ? at + bytes.readUInt32BE(at) : blank === -1 ? bytes.length : blank + 2
    frames.push(bytes.subarray(at, end))
    at = end
  }
  return frames
}

/** What aimock does not play at all, in the words of these APIs' documentation: by provider and path. */
const documented: ReadonlyArray<readonly [path: RegExp, answer: unknown]> = [
  [/\/messages\/count_tokens$|\/count-tokens:rawPredict$/, { input_tokens: counted }],
  [/\/model\/[^/]+\/count-tokens$/, { inputTokens: counted }],
  [/:countTokens$/, { totalTokens: counted }],
  [/:predict$/, { predictions: [{ embeddings: { values: vector, statistics: { token_count: 2 } } }] }],
  [/\/model\/amazon\.nova[^/]+\/invoke$/, { embeddings: [{ embeddingType: "TEXT", embedding: vector }] }],
  [/\/model\/cohere[^/]+\/invoke$/, { embeddings: [vector], response_type: "embeddings_floats" }],
  [/\/model\/[^/]+\/invoke$/, { embedding: vector, inputTextTokenCount: 2 }],
  [
    /_ranking_config:rank$/,
    { records: ranking.map(({ index, relevance_score }) => ({ id: `${index}`, score: relevance_score })) }
  ],
  [
    /^bedrock[^/]*\/rerank$/,
    { results: ranking.map(({ index, relevance_score }) => ({ index, relevanceScore: relevance_score })) }
  ]
]

/** Errors in the middle of a stream, as each API sends them. */
const apology = (type: string, path: string): Buffer => {
  const { message } = breaks[1]
  if (type.includes("eventstream")) {
    const codec = new EventStreamCodec(
      (bytes) => Buffer.from(bytes as Uint8Array).toString("utf8"),
      (text) => Buffer.from(text, "utf8")
    )
    return Buffer.from(
      codec.encode({
        headers: {
          ":message-type": { type: "string", value: "exception" },
          ":exception-type": { type: "string", value: "internalServerException" },
          ":content-type": { type: "string", value: "application/json" }
        },
        body: Buffer.from(JSON.stringify({ message }))
      })
    )
  }
  const data = (json: unknown, event?: string) =>
    Buffer.from(`${event === undefined ? "" : `event: ${event}\n`}data: ${JSON.stringify(json)}\n\n`)
  if (path.includes("messages") || path.includes("awPredict"))
    return data({ type: "error", error: { type: "api_error", message } }, "error")
  if (path.includes("responses"))
    return data({ type: "error", code: "server_error", message, param: null, sequence_number: 99 }, "error")
  if (path.includes("GenerateContent")) return data({ error: { code: 500, message, status: "INTERNAL" } })
  return data({ error: { message, type: "server_error" } })
}

/** Bedrock tells errors in a member of its own; aimock plays it with Anthropic's. */
const bedrockError = (text: string): string => {
  const { error } = JSON.parse(text) as { readonly error?: { readonly message?: string } }
  return JSON.stringify({ message: error?.message ?? text })
}

/** `served`: whether a provider has such a path. */
export const startFarm = async (served: (provider: string, path: string) => boolean): Promise<Farm> => {
  const mock = stock(new LLMock({ port: 0, logLevel: "silent", chunkSize: 5 }))
  await mock.start()
  const sent: Array<Sent> = []

  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const chunks: Array<Buffer> = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const bytes = Buffer.concat(chunks)
    const [, provider = "", path = ""] = /^\/at\/([^/]+)(.*)$/.exec(request.url ?? "") ?? []
    const body = bytes.toString("utf8")
    sent.push({ provider, path, headers: request.headers, body })
    if (!served(provider, path)) {
      response
        .writeHead(404, { "content-type": "application/json" })
        .end(JSON.stringify({ error: { message: "no such path" } }))
      return
    }
    const [plain = "", query] = path.split("?")
    const answered = documented.find(([of]) => of.test(`${provider}${plain}`))
    if (answered !== undefined) {
      response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(answered[1]))
      return
    }
    const known = paths.find(([from]) => from.test(plain))
    const match = known?.[0].exec(plain)
    const [, to = plain, rewritten] = known ?? []
    const asked = rewritten && match ? JSON.stringify(rewritten(JSON.parse(body) as Json, match)) : bytes
    const { host: _, "content-length": __, connection: ___, ...headers } = request.headers
    const upstream = await fetch(`${mock.url}${to}${query === undefined ? "" : `?${query}`}`, {
      method: request.method ?? "GET",
      headers: headers as Record<string, string>,
      body: request.method === "GET" ? null : asked
    })
    const type = upstream.headers.get("content-type") ?? ""
    response.writeHead(upstream.status, {
      "content-type": type,
      ...(upstream.headers.has("retry-after") && { "retry-after": upstream.headers.get("retry-after") ?? "" })
    })
    if (upstream.status >= 400 && plain.startsWith("/model/")) {
      response.end(bedrockError(await upstream.text()))
      return
    }
    const broken = breaks.find(({ prompt }) => body.includes(prompt))
    if (broken === undefined) {
      for await (const chunk of upstream.body ?? []) response.write(chunk)
      response.end()
      return
    }
    const whole = Buffer.from(await upstream.arrayBuffer())
    const frames = framesOf(type, whole)
    const begun = Buffer.concat(frames.slice(0, Math.ceil(frames.length / 2)))
    if (broken === breaks[1]) response.end(Buffer.concat([begun, apology(type, plain)]))
    // What has been written leaves before the connection goes.
    else response.write(begun, () => response.destroy())
  }

  const server = createServer((request, response) => {
    answer(request, response).catch(() => response.destroy())
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const { port } = server.address() as { readonly port: number }
  return {
    url: (provider) => `http://127.0.0.1:${port}/at/${provider}`,
    sent: () => sent,
    heard: () => mock.getLastRequest()?.body,
    stop: async () => {
      await new Promise<void>((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      })
      await mock.stop()
    }
  }
}
