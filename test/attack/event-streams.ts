/**
 * Event streams as no server should write them: through a model of the same format, through a translation, and from an MCP
 * server. Whoever reads them gets an answer or a cut connection, in good form and in time, and nobody else notices.
 */
import { json as jsonOf } from "node:stream/consumers"
import { Effect } from "effect"
import * as Arbitrary from "effect/Arbitrary"
import * as Schema from "effect/Schema"
import { httpBackend, portOf } from "../http/edge.ts"
import { attack, type Trial } from "./attack.ts"
import { json, modelAndTool, resultOf } from "./model-and-tool.ts"

type Reader = "model" | "translation" | "tool"

interface HostileStream {
  readonly title: string
  readonly reader: Reader
  readonly bytes: () => Uint8Array | string
  /** Into pieces of how many bytes it is cut. Default: one. */
  readonly pieces?: number
  readonly headers?: Readonly<Record<string, string>>
  /** What its reader gets to see all the same. */
  readonly says?: RegExp
  /** One line or event is more than a translation holds: it is cut. */
  readonly large?: true
}

const everyone: ReadonlyArray<Reader> = ["model", "translation", "tool"]
const models: ReadonlyArray<Reader> = ["model", "translation"]

const chunk = (delta: unknown, more: object = {}) =>
  `data: ${JSON.stringify({ id: "c", object: "chat.completion.chunk", created: 1, model: "m", choices: [{ index: 0, delta, finish_reason: null }], ...more })}\n\n`
const done = "data: [DONE]\n\n"
const message = (value: unknown) => `data: ${JSON.stringify(value)}\n\n`
const result = { content: [{ type: "text", text: "done" }] }
const answer = message({ jsonrpc: "2.0", id: "ID", result })
const both = chunk({ content: "a" }) + answer + done
const bytes = (...parts: ReadonlyArray<string | ReadonlyArray<number>>) =>
  Buffer.concat(parts.map((part) => (typeof part === "string" ? Buffer.from(part) : Buffer.from(part))))

type Row = readonly [
  title: string,
  bytes: () => Uint8Array | string,
  more?: Pick<HostileStream, "pieces" | "headers" | "says" | "large">
]

const whole = { says: /"(?:content|text)":"a"|"id":7\b/ }

const forEveryone: ReadonlyArray<Row> = [
  ["as it should be", () => both, whole],
  ["as it should be, byte by byte", () => both, { pieces: 1, ...whole }],
  ["nothing", () => ""],
  ["comments alone", () => ": x\n\n: y\n\n"],
  ["20,000 empty lines", () => `${"\n".repeat(20_000)}${both}`, whole],
  ["no empty line at the end", () => both.slice(0, -1)],
  ["lines that end in CR", () => both.replaceAll("\n", "\r"), whole],
  ["lines that end in CR and LF, byte by byte", () => both.replaceAll("\n", "\r\n"), { pieces: 1, ...whole }],
  ["lines that end in this and that", () => both.replaceAll("\n\n", "\r\n\n").replace("\r\n\n", "\r\r\n")],
  ["a byte order mark", () => bytes([0xef, 0xbb, 0xbf], both)],
  ["two byte order marks", () => bytes([0xef, 0xbb, 0xbf, 0xef, 0xbb, 0xbf], both)],
  ["a NUL in a line", () => `data: \0\n\n${both}`],
  ["a NUL in an id", () => `id: a\0b\n${both}`],
  ["NULs alone", () => "\0".repeat(10_000)],
  ["bytes that are no UTF-8", () => bytes("data: ", [0xff, 0xfe, 0xc0, 0x80], "\n\n", both)],
  ["a character that never ends", () => bytes(both, "data: ", [0xf0, 0x9f, 0x98])],
  ["characters cut in pieces", () => `: 😀 ünï\n\n${both}`, { pieces: 1, ...whole }],
  ["a line of 3 MiB without an end", () => `data: ${"x".repeat(3 << 20)}`, { large: true }],
  ["a line of 3 MiB without a colon", () => "x".repeat(3 << 20), { large: true }],
  ["a comment of 3 MiB", () => `:${"x".repeat(3 << 20)}\n\n${both}`, { large: true }],
  [
    "an event of 3 MiB on many lines",
    () => `${"data: xxxxxxxxxxxxxxxxxxxxxxxx\n".repeat(100_000)}\n${both}`,
    { large: true }
  ],
  ["an event name of 3 MiB", () => `event: ${"x".repeat(3 << 20)}\n${both}`, { large: true }],
  ["an id of 1 MiB", () => `id: ${"x".repeat(1 << 20)}\n${both}`],
  ["20,000 events of nothing", () => `${"data:\n\n".repeat(20_000)}${both}`],
  ["a field without a colon", () => `data\n\n${both}`],
  ["unknown fields", () => `x: y\nfoo: bar\n: \n${both}`, whole],
  ["fields in capitals", () => `DATA: x\n\n${both}`],
  ["a blank before a field", () => ` data: x\n\n${both}`],
  ["a reconnection time of ages", () => `retry: 99999999999999999999\n${both}`],
  ["a reconnection time that is none", () => `retry: -1\nretry: NaN\nretry: 1e3\n${both}`],
  ["JSON that is broken", () => `data: {"a":\n\n${both}`],
  ["JSON with more behind it", () => `data: {} {}\n\n${both}`],
  ["a page of HTML", () => "<html><body>504</body></html>"],
  ["null", () => `data: null\n\n${both}`],
  ["a number", () => `data: 1e999\n\n${both}`],
  ["a list", () => `data: [[],{},1]\n\n${both}`],
  ["JSON 50,000 deep", () => `data: ${"[".repeat(50_000)}${"]".repeat(50_000)}\n\n${both}`],
  ["objects 50,000 deep", () => `data: ${'{"a":'.repeat(50_000)}1${"}".repeat(50_000)}\n\n${both}`],
  [
    "a member __proto__",
    () => `data: {"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}}\n\n${both}`
  ],
  ["half of a surrogate pair", () => `data: {"a":"\\ud83d"}\n\n${both}`],
  ["names that objects have", () => `event: constructor\ndata: {}\n\nevent: __proto__\ndata: {}\n\n${both}`],
  ["a coding that it has not", () => both, { headers: { "content-encoding": "gzip" } }],
  ["a coding that nobody knows", () => both, { headers: { "content-encoding": "cow" } }],
  ["another type", () => both, { headers: { "content-type": "text/html" } }],
  ["no type", () => both, { headers: { "content-type": "" } }]
]

const forModels: ReadonlyArray<Row> = [
  ["the end first", () => done + both],
  ["the end twice", () => both + done],
  ["more behind the end", () => both + chunk({ content: "b" })],
  ["an error in the middle", () => `${chunk({ content: "a" })}data: {"error":{"message":"x","code":500}}\n\n`],
  ["an error that is a text", () => `data: {"error":"x"}\n\n${done}`],
  [
    "choices that are none",
    () => `data: {"choices":"x"}\n\ndata: {"choices":{}}\n\ndata: {"choices":[null,1]}\n\n${both}`
  ],
  [
    "10,000 choices",
    () => chunk({}, { choices: Array.from({ length: 10_000 }, (_, index) => ({ index, delta: {} })) }) + done
  ],
  ["a choice far away", () => chunk({}, { choices: [{ index: 4_000_000_000, delta: { content: "a" } }] }) + done],
  ["a choice before the first", () => chunk({}, { choices: [{ index: -1, delta: { content: "a" } }] }) + done],
  ["content that is an object", () => chunk({ content: { a: 1 } }) + done],
  ["content that is a number", () => chunk({ content: 1 }) + done],
  ["a role that is none", () => chunk({ role: "__proto__", content: "a" }) + done],
  [
    "a call of a tool far away",
    () => chunk({ tool_calls: [{ index: 2_000_000_000, id: "x", function: { name: "f", arguments: "{" } }] }) + done
  ],
  [
    "a call of a tool before the first",
    () => chunk({ tool_calls: [{ index: -1, function: { arguments: "}" } }] }) + done
  ],
  ["a call of a tool without anything", () => chunk({ tool_calls: [{}] }) + chunk({ tool_calls: "x" }) + done],
  [
    "arguments that go on before they begin",
    () => chunk({ tool_calls: [{ index: 0, function: { arguments: "1}" } }] }) + done
  ],
  [
    "usage that is negative",
    () => chunk({}, { usage: { prompt_tokens: -1, completion_tokens: -1e308, total_tokens: -2 } }) + done
  ],
  [
    "usage beyond numbers",
    () => `data: {"choices":[],"usage":{"prompt_tokens":1e999,"completion_tokens":9007199254740993}}\n\n${done}`
  ],
  [
    "usage that is a text",
    () => chunk({}, { usage: { prompt_tokens: "5", completion_tokens: [1] } }) + chunk({}, { usage: "x" }) + done
  ],
  ["a reason that is none", () => chunk({}, { choices: [{ index: 0, delta: {}, finish_reason: { a: 1 } }] }) + done],
  ["a model that is an object", () => chunk({ content: "a" }, { model: { a: 1 }, id: [1], created: "x" }) + done],
  [
    "2,000 identifiers",
    () => Array.from({ length: 2_000 }, (_, id) => chunk({ content: "a" }, { id: `c${id}` })).join("") + done
  ],
  [
    "events of another format",
    () =>
      `event: message_start\ndata: {"type":"message_start"}\n\nevent: message_stop\ndata: {"type":"message_stop"}\n\n`
  ],
  ["a text of 1 MiB in one chunk", () => chunk({ content: "x".repeat(1 << 20) }) + done]
]

const forTools: ReadonlyArray<Row> = [
  ["an answer to something else", () => message({ jsonrpc: "2.0", id: 99, result })],
  ["an answer to something else, then the answer", () => message({ jsonrpc: "2.0", id: 99, result }) + answer],
  ["two answers", () => answer + answer],
  [
    "an answer and an error in one",
    () => message({ jsonrpc: "2.0", id: "ID", result, error: { code: 1, message: "x" } })
  ],
  ["neither an answer nor an error", () => message({ jsonrpc: "2.0", id: "ID" }) + answer],
  ["an identifier that is null", () => message({ jsonrpc: "2.0", id: null, result }) + answer],
  ["an identifier that is an object", () => message({ jsonrpc: "2.0", id: { a: 1 }, result }) + answer],
  ["an identifier that is a fraction", () => message({ jsonrpc: "2.0", id: 0.5, result }) + answer],
  ["another version", () => message({ jsonrpc: "1.0", id: "ID", result }) + answer],
  ["no version", () => message({ id: "ID", result }) + answer],
  ["a list of messages", () => message([{ jsonrpc: "2.0", id: "ID", result }])],
  ["an empty list", () => message([]) + answer],
  ["a result that is a text", () => message({ jsonrpc: "2.0", id: "ID", result: "x" })],
  ["a result that is null", () => message({ jsonrpc: "2.0", id: "ID", result: null })],
  ["an error that is a text", () => message({ jsonrpc: "2.0", id: "ID", error: "x" })],
  ["an error whose code is a text", () => message({ jsonrpc: "2.0", id: "ID", error: { code: "x", message: 5 } })],
  [
    "5,000 notifications",
    () =>
      message({ jsonrpc: "2.0", method: "notifications/message", params: { level: "info", data: 1 } }).repeat(5_000) +
      answer
  ],
  [
    "a notification of nothing",
    () => message({ jsonrpc: "2.0", method: "" }) + message({ jsonrpc: "2.0", method: 5 }) + answer
  ],
  [
    "progress of somebody else",
    () =>
      message({ jsonrpc: "2.0", method: "notifications/progress", params: { progressToken: "x", progress: 1 } }) +
      answer
  ],
  [
    "a cancellation of somebody else",
    () => message({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 1 } }) + answer
  ],
  ["a request that nobody can answer", () => message({ jsonrpc: "2.0", id: 1, method: "no/such" }) + answer],
  ["a request with the number of the call", () => message({ jsonrpc: "2.0", id: "ID", method: "ping" }) + answer],
  ["a method __proto__", () => message({ jsonrpc: "2.0", id: 5, method: "__proto__" }) + answer],
  ["a name of an event that is none", () => `event: no such\n${answer}`],
  ["an event that only tells its id", () => `id: 1\ndata:\n\n${answer}`]
]

const rows = (readers: ReadonlyArray<Reader>, table: ReadonlyArray<Row>) =>
  readers.flatMap((reader) =>
    table.map(([title, bytes, more]): HostileStream => ({ title: `${reader}: ${title}`, reader, bytes, ...more }))
  )

const open = Effect.gen(function* () {
  let now: HostileStream
  /** What the server was asked under: its own answer goes by that number. */
  const streamed = (id: unknown): Buffer => {
    const raw = now.bytes()
    return typeof raw === "string" ? Buffer.from(raw.replaceAll('"ID"', JSON.stringify(id))) : Buffer.from(raw)
  }
  const server = yield* httpBackend(async (request, response) => {
    if (request.method !== "POST") return void response.writeHead(405).end()
    const asked = (await jsonOf(request)) as { id?: unknown; method?: string }
    if (request.url === "/mcp" && asked.method !== "tools/call") {
      if (asked.id === undefined) return void response.writeHead(202).end()
      response.writeHead(200, { "content-type": "application/json", "mcp-session-id": "s" })
      return void response.end(JSON.stringify({ jsonrpc: "2.0", id: asked.id, result: resultOf(asked.method) }))
    }
    response.writeHead(200, { "content-type": "text/event-stream", ...now.headers })
    const all = streamed(asked.id)
    const size = now.pieces ?? all.length
    response.on("error", () => {})
    for (let at = 0; at < all.length; at += size) {
      response.write(all.subarray(at, at + size))
      if (size < all.length) await new Promise((resolve) => setImmediate(resolve))
    }
    response.end()
  })
  const port = portOf(server.address())
  const { ask, callTool, well } = yield* modelAndTool(port)
  const chat = { model: "m", stream: true, max_tokens: 5, messages: [{ role: "user", content: "hello" }] }
  const read = (reader: Reader) =>
    reader === "tool"
      ? callTool()
      : ask({
          method: "POST",
          path: reader === "model" ? "/v1/chat/completions" : "/v1/messages",
          headers: json,
          body: JSON.stringify(chat)
        })
  const trial: Trial<HostileStream> = (stream) =>
    Effect.promise(async () => {
      now = stream
      const received = await read(stream.reader)
      if (stream.says !== undefined && !stream.says.test(received?.body ?? ""))
        throw new Error(`received ${received?.status} ${received?.body}`)
      if (received !== undefined && stream.reader !== "model") {
        // An event that only tells its id, for a client that comes back, has empty data.
        for (const line of received.body.split("\n"))
          if (line.startsWith("data: ") && line !== "data: ") JSON.parse(line.slice(6))
        const answers = received.body.split("\n").filter((line) => /^(?:data: |\{).*"id":7\b/.test(line))
        // A client that was told an id comes back for its answer.
        const isSettled = answers.length === 1 || (answers.length === 0 && /^id: /m.test(received.body))
        if (stream.reader === "tool" && !isSettled)
          throw new Error(`${answers.length} answers: ${answers}, in ${received.body}`)
      }
      if (stream.reader === "translation" && stream.large === true && received !== undefined)
        throw new Error(`it was held: ${received.status} ${received.body.slice(0, 300)}`)
      if (({} as { polluted?: unknown }).polluted !== undefined) throw new Error("a prototype was changed")
      await well()
    })
  return trial
})

const scraps = Schema.Literals([
  "data: ",
  "data:",
  "event: ",
  "id: ",
  "retry: ",
  ":",
  "\n",
  "\r",
  "\r\n",
  "\n\n",
  "[DONE]",
  '{"choices":[{"index":0,"delta":{"content":"a"}}]}',
  '{"jsonrpc":"2.0","id":"ID","result":{}}',
  '{"jsonrpc":"2.0","method":"notifications/message"}',
  "{",
  '"',
  "\\u0000",
  "null",
  "\0",
  "😀",
  "﻿",
  "x"
])
const drawn = Arbitrary.all({
  reader: Arbitrary.schema(Schema.Literals(everyone)),
  parts: Arbitrary.array(Arbitrary.schema(scraps), { maxLength: 20 }),
  pieces: Arbitrary.schema(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 50 })))
})

export const eventStreams = attack<HostileStream>({
  class: "event streams",
  name: "event streams",
  proves: "a stream in bad form is answered or cut in time, and harms nobody else",
  cases: [...rows(everyone, forEveryone), ...rows(models, forModels), ...rows(["tool"], forTools)],
  generated: {
    cases: Arbitrary.map(drawn, ({ reader, parts, pieces }) => ({
      title: `${reader}, in pieces of ${pieces}: ${JSON.stringify(parts.join(""))}`,
      reader,
      bytes: () => parts.join(""),
      pieces
    })),
    few: 60,
    many: 10_000
  },
  open
})
