/**
 * Decompression: bodies that grow, lie about their coding, stop short or are coded over and over, on their way to a model,
 * back from one, and back from an MCP server. What is read is bounded, and what cannot be read is refused.
 */
import { json as jsonOf } from "node:stream/consumers"
import { brotliCompressSync, constants, deflateRawSync, deflateSync, gzipSync, zstdCompressSync } from "node:zlib"
import { Effect } from "effect"
import * as Arbitrary from "effect/Arbitrary"
import * as Schema from "effect/Schema"
import { httpBackend, portOf } from "../http/edge.ts"
import { attack, type Trial } from "./attack.ts"
import { json, modelAndTool, resultOf } from "./model-and-tool.ts"

/** On its way to the model, back from it, back from an MCP server. */
type Way = "request" | "answer" | "tool"

interface Coded {
  readonly title: string
  readonly way: Way
  readonly coding: string
  /** Makes the body of what an honest one would have said. */
  readonly body: (honest: Buffer) => Buffer
  /** Whether it is read as the honest one, refused, or either. */
  readonly read: boolean | undefined
}

const ways: ReadonlyArray<Way> = ["request", "answer", "tool"]
const codings = ["gzip", "deflate", "br", "zstd"] as const
type Coding = (typeof codings)[number]

const fast = { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } }
const encode: Readonly<Record<Coding, (bytes: Buffer) => Buffer>> = {
  gzip: gzipSync,
  deflate: deflateSync,
  br: (bytes) => brotliCompressSync(bytes, fast),
  zstd: zstdCompressSync
}

/** Blanks before what was honest: it would be read, if it were not for its size. */
const blanks = Buffer.alloc(96 << 20, " ")
const bombs = new Map<Coding, Buffer>()
const bomb = (coding: Coding): Buffer => {
  const made = bombs.get(coding) ?? encode[coding](blanks)
  bombs.set(coding, made)
  return made
}

const cut = (bytes: Buffer, from: number, to?: number) => bytes.subarray(from, to)
const changed = (bytes: Buffer, at: number) => {
  const copy = Buffer.from(bytes)
  const index = at < 0 ? copy.length + at : at
  copy[index] = copy[index]! ^ 0x55
  return copy
}

const times = (count: number) => (honest: Buffer) =>
  new Array(count).fill(0).reduce<Buffer>((bytes) => gzipSync(bytes), honest)

type Row = readonly [title: string, coding: string, body: (honest: Buffer) => Buffer, read: boolean | undefined]

const rows: ReadonlyArray<Row> = [
  ...codings.flatMap(
    (coding): ReadonlyArray<Row> => [
      [`${coding} as it should be`, coding, encode[coding], true],
      [`a bomb of ${coding}`, coding, () => bomb(coding), false],
      [
        `a bomb of ${coding} before what is honest`,
        coding,
        (honest) => Buffer.concat([bomb(coding), encode[coding](honest)]),
        false
      ],
      [`${coding} that is cut`, coding, (honest) => cut(encode[coding](honest), 0, -9), false],
      [`${coding} without its first byte`, coding, (honest) => cut(encode[coding](honest), 1), false],
      [`nothing of ${coding}`, coding, () => Buffer.alloc(0), false],
      [`one byte of ${coding}`, coding, (honest) => cut(encode[coding](honest), 0, 1), false],
      [`${coding} that is none`, coding, (honest) => honest, false],
      [`${coding} of ${coding}`, coding, (honest) => encode[coding](encode[coding](honest)), false],
      [`${coding} of a bomb`, `${coding}, ${coding}`, () => encode[coding](bomb(coding)), false],
      [
        `${coding} with more behind it`,
        coding,
        (honest) => Buffer.concat([encode[coding](honest), Buffer.from("garbage")]),
        undefined
      ],
      [`${coding} with a byte changed`, coding, (honest) => changed(encode[coding](honest), 12), undefined]
    ]
  ),
  ["gzip with a wrong checksum", "gzip", (honest) => changed(gzipSync(honest), -7), false],
  ["gzip with a wrong length", "gzip", (honest) => changed(gzipSync(honest), -2), false],
  [
    "gzip in two parts",
    "gzip",
    (honest) => Buffer.concat([gzipSync(cut(honest, 0, 9)), gzipSync(cut(honest, 9))]),
    undefined
  ],
  [
    "gzip with a name of 1 MiB",
    "gzip",
    (honest) => {
      const plain = gzipSync(honest)
      return Buffer.concat([
        cut(plain, 0, 3),
        Buffer.from([8]),
        cut(plain, 4, 10),
        Buffer.alloc(1 << 20, "n"),
        Buffer.from([0]),
        cut(plain, 10)
      ])
    },
    undefined
  ],
  ["gzip in capitals", "GZIP", encode.gzip, true],
  ["gzip by its old name", "x-gzip", encode.gzip, true],
  ["gzip within blanks", " gzip ", encode.gzip, true],
  ["deflate without its frame", "deflate", deflateRawSync, undefined],
  ["deflate with a wrong checksum", "deflate", (honest) => changed(deflateSync(honest), -2), false],
  ["two codings", "deflate, gzip", (honest) => gzipSync(deflateSync(honest)), undefined],
  ["two codings, one of which is none", "identity, gzip", encode.gzip, undefined],
  ["five codings", "gzip, gzip, gzip, gzip, gzip", times(5), false],
  ["ten codings", new Array(10).fill("gzip").join(", "), times(10), false],
  ["a coding and nothing", "gzip,", encode.gzip, undefined],
  ["a coding with a parameter", "gzip;q=1", encode.gzip, undefined],
  ["an unknown coding", "cow", (honest) => honest, false],
  ["compress", "compress", (honest) => honest, false],
  ["a coding named __proto__", "__proto__", (honest) => honest, false],
  ["a coding named constructor", "constructor", (honest) => honest, false],
  ["identity", "identity", (honest) => honest, true],
  ["identity that is gzip", "identity", encode.gzip, false],
  ["a coding that is not told", "", encode.gzip, false],
  [
    "a zstd frame that skips",
    "zstd",
    (honest) =>
      Buffer.concat([Buffer.from([0x50, 0x2a, 0x4d, 0x18, 4, 0, 0, 0, 1, 2, 3, 4]), zstdCompressSync(honest)]),
    undefined
  ],
  [
    "a zstd frame that wants a window of 2 GiB",
    "zstd",
    () => Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0x00, 0xa8, 0x01, 0x00, 0x00]),
    false
  ]
]

/** How much more memory outside of the heap one trial may take at any time: what is read is limited to 16 MiB at most. */
const allowance = 48 << 20

const open = Effect.gen(function* () {
  let now: Coded
  /** What the model was asked last. */
  let model: unknown
  const server = yield* httpBackend(async (request, response) => {
    if (request.method !== "POST") return void response.writeHead(405).end()
    const asked = (await jsonOf(request)) as { id?: unknown; method?: string; model?: unknown }
    const respond = (value: unknown, coded: boolean) => {
      const honest = Buffer.from(JSON.stringify(value))
      const coding = coded && now.coding !== "" ? { "content-encoding": now.coding } : {}
      response.on("error", () => {})
      response.writeHead(200, { "content-type": "application/json", "mcp-session-id": "s", ...coding })
      response.end(coded ? now.body(honest) : honest)
    }
    if (request.url === "/mcp") {
      if (asked.id === undefined) return void response.writeHead(202).end()
      const result =
        asked.method === "tools/call" ? { content: [{ type: "text", text: "honest" }] } : resultOf(asked.method)
      return respond({ jsonrpc: "2.0", id: asked.id, result }, asked.method === "tools/call")
    }
    model = asked.model
    const message = { role: "assistant", content: "honest" }
    const choices = [{ index: 0, message, finish_reason: "stop" }]
    const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 }
    respond({ id: "c", object: "chat.completion", created: 1, model: "m", choices, usage }, now.way === "answer")
  })
  const port = portOf(server.address())
  const { ask, callTool, well } = yield* modelAndTool(port)
  const chat = Buffer.from(
    JSON.stringify({ model: "honest", max_tokens: 5, messages: [{ role: "user", content: "hello" }] })
  )
  const read = ({ way, coding, body }: Coded) => {
    if (way === "tool") return callTool()
    const coded = way === "request"
    return ask({
      method: "POST",
      // An answer is read when it has to be translated.
      path: coded ? "/v1/chat/completions" : "/v1/messages",
      headers: coded && coding !== "" ? { ...json, "content-encoding": coding } : json,
      body: coded ? body(chat) : chat
    })
  }
  const outside = () => {
    const { external, arrayBuffers } = process.memoryUsage()
    return external + arrayBuffers
  }
  const trial: Trial<Coded> = (one) =>
    Effect.promise(async () => {
      now = one
      model = undefined
      for (const coding of codings) if (one.title.includes("bomb")) bomb(coding)
      const before = outside()
      let most = 0
      const sampler = setInterval(() => {
        most = Math.max(most, outside() - before)
      }, 1)
      const received = await read(one)
      clearInterval(sampler)
      const honest = received?.status === 200 && received.body.includes("honest") && !received.body.includes('"error"')
      const said = `received ${received?.status} ${received?.body.slice(0, 300)}`
      if (one.read === true && !honest) throw new Error(`was not read: ${said}`)
      if (one.read === false && honest) throw new Error(`was taken for honest: ${said}`)
      if (one.way === "request" && !honest && model !== undefined) throw new Error(`the model was asked: ${said}`)
      if (received?.body === "internal error") throw new Error(said)
      if (most > allowance) throw new Error(`took ${most >> 20} MiB`)
      await well()
    })
  return trial
})

const drawn = Arbitrary.all({
  way: Arbitrary.schema(Schema.Literals(ways)),
  coding: Arbitrary.schema(Schema.Literals(codings)),
  at: Arbitrary.schema(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 120 }))),
  cutting: Arbitrary.schema(Schema.Boolean)
})

export const decompression = attack<Coded>({
  class: "decompression",
  name: "decompression",
  proves: "what is read is bounded, and what cannot be read whole is refused",
  cases: ways.flatMap((way) =>
    rows.map(([title, coding, body, read]) => ({ title: `${way}: ${title}`, way, coding, body, read }))
  ),
  generated: {
    cases: Arbitrary.map(drawn, ({ way, coding, at, cutting }) => ({
      title: `${way}: ${coding} ${cutting ? "cut" : "changed"} at ${at}`,
      way,
      coding,
      body: (honest: Buffer) => {
        const bytes = encode[coding](honest)
        return cutting ? cut(bytes, 0, at % bytes.length) : changed(bytes, at % bytes.length)
      },
      read: cutting ? false : undefined
    })),
    few: 60,
    many: 5_000
  },
  open
})
