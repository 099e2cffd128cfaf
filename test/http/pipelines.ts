/**
 * Pipelines of every kind of request behind every other, cut into packets anywhere, and what must hold of the answers:
 * each request gets its own, in order, or the connection closes; and nothing is answered that was not asked.
 */
import { createServer } from "node:http"
import { Effect, type Scope } from "effect"
import { BodyAborted, type BodySink, type BodySource } from "../../src/http/body.ts"
import { HeaderList } from "../../src/http/header-list.ts"
import type { Answer } from "../../src/http/message.ts"
import type { Exchange } from "../../src/pipeline/exchange.ts"
import { edge, forward, portOf, upstreamTo } from "./edge.ts"
import { parseResponses, RawClient } from "./raw-client.ts"

interface Kind {
  readonly name: string
  /** The bytes of a request whose answer will tell `id`. */
  readonly bytes: (id: string) => string
  /** The statuses that its answer may have; none: there is no whole answer. */
  readonly statuses: ReadonlyArray<number>
  /** It does not reach the engine, so its answer tells no id. */
  readonly refused?: true
  readonly head?: true
  /** Whether the connection closes behind its answer. Default: it does not. */
  readonly ends?: "always" | "perhaps"
  /** The connection may close at once when something is still under way before it. */
  readonly abrupt?: true
  /** The parser refuses it: when an answer is under way, that one says that it is the last. */
  readonly unparsable?: true
}

/** What stands in bodies, and must never be taken for a request. */
const hidden = "GET /text/hidden HTTP/1.1\r\nhost: a\r\n\r\n"

const head = (method: string, target: string, lines: ReadonlyArray<string> = [], version = "HTTP/1.1") =>
  `${[`${method} ${target} ${version}`, "host: a", ...lines].join("\r\n")}\r\n\r\n`
const get =
  (path: string, lines: ReadonlyArray<string> = [], version?: string) =>
  (id: string) =>
    head("GET", `/${path}/${id}`, lines, version)
const post =
  (path: string, body: string, lines: ReadonlyArray<string> = []) =>
  (id: string) =>
    head("POST", `/${path}/${id}`, [`content-length: ${body.length}`, ...lines]) + body
const chunked = (path: string, body: string) => (id: string) =>
  `${head("POST", `/${path}/${id}`, ["transfer-encoding: chunked"])}${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`
const wish = (protocol: string) => ["connection: upgrade", `upgrade: ${protocol}`]

/** Every kind of answer, and every kind of request. */
export const kinds: ReadonlyArray<Kind> = [
  { name: "text", bytes: get("text"), statuses: [200] },
  { name: "text, later", bytes: get("later"), statuses: [200] },
  { name: "no body", bytes: get("empty"), statuses: [200] },
  { name: "HEAD", bytes: (id) => head("HEAD", `/text/${id}`), statuses: [200], head: true },
  { name: "204", bytes: get("204"), statuses: [204] },
  { name: "304", bytes: get("304"), statuses: [304] },
  { name: "a stream with a length", bytes: get("stream"), statuses: [200] },
  { name: "a stream in chunks", bytes: get("chunks"), statuses: [200] },
  { name: "a big answer", bytes: get("big"), statuses: [200] },
  { name: "a backend's answer", bytes: get("backend"), statuses: [200] },
  { name: "a defect", bytes: get("defect"), statuses: [500] },
  { name: "a defect, later", bytes: get("late-defect"), statuses: [500] },
  { name: "no answer at all", bytes: get("nonsense"), statuses: [500] },
  { name: "an answer that is cut", bytes: get("cut"), statuses: [], ends: "always" },
  { name: "a body that is read", bytes: post("read", hidden), statuses: [200] },
  { name: "a chunked body that is read", bytes: chunked("read", hidden), statuses: [200] },
  { name: "a body to a backend", bytes: post("backend", hidden), statuses: [200] },
  { name: "401 to a body", bytes: post("401", hidden), statuses: [401] },
  { name: "401 to a long body", bytes: post("401", hidden.repeat(1800)), statuses: [401], ends: "perhaps" },
  { name: "401 to a chunked body", bytes: chunked("401", hidden), statuses: [401], ends: "perhaps" },
  { name: "413", bytes: post("413", hidden.repeat(50)), statuses: [413], ends: "perhaps" },
  { name: "100", bytes: post("read", hidden, ["expect: 100-continue"]), statuses: [200] },
  { name: "no 100", bytes: post("401", hidden, ["expect: 100-continue"]), statuses: [401], ends: "perhaps" },
  { name: "HTTP/1.0", bytes: get("text", [], "HTTP/1.0"), statuses: [200], ends: "always" },
  { name: "HTTP/1.0, kept", bytes: get("text", ["connection: keep-alive"], "HTTP/1.0"), statuses: [200] },
  {
    name: "HTTP/1.0, kept, in chunks",
    bytes: get("chunks", ["connection: keep-alive"], "HTTP/1.0"),
    statuses: [200],
    ends: "always"
  },
  { name: "close", bytes: get("text", ["connection: close"]), statuses: [200], ends: "always" },
  { name: "OPTIONS *", bytes: (id) => head("OPTIONS", "*", [`x-id: ${id}`]), statuses: [200] },
  { name: "an absolute target", bytes: (id) => head("GET", `http://b/text/${id}`), statuses: [200] },
  { name: "a wish for h2c", bytes: get("text", wish("h2c")), statuses: [200], ends: "always" },
  { name: "a wish for h2c with a body", bytes: post("read", hidden, wish("h2c")), statuses: [200], ends: "always" },
  { name: "a wish with a body", bytes: post("read", hidden, wish("x")), statuses: [200], ends: "always" },
  {
    name: "a wish of HTTP/1.0",
    bytes: get("later", [...wish("x"), "connection: keep-alive"], "HTTP/1.0"),
    statuses: [200],
    ends: "always"
  },
  { name: "an upgrade, declined", bytes: get("text", wish("x")), statuses: [200], ends: "always", abrupt: true },
  { name: "an upgrade, declined later", bytes: get("later", wish("x")), statuses: [200], ends: "always", abrupt: true },
  { name: "an upgrade, granted", bytes: get("switch", wish("x")), statuses: [101], ends: "always", abrupt: true },
  {
    name: "an upgrade, malformed",
    bytes: get("text", [...wish("x"), "host: b"]),
    statuses: [400],
    refused: true,
    ends: "always",
    abrupt: true
  },
  {
    name: "CONNECT",
    bytes: () => "CONNECT a:1 HTTP/1.1\r\nhost: a:1\r\n\r\n",
    statuses: [405],
    refused: true,
    ends: "always",
    abrupt: true
  },
  { name: "TRACE", bytes: (id) => head("TRACE", `/text/${id}`), statuses: [405], refused: true, ends: "always" },
  { name: "417", bytes: get("text", ["expect: x"]), statuses: [417], refused: true, ends: "always" },
  { name: "two hosts", bytes: get("text", ["host: b"]), statuses: [400], refused: true, ends: "always" },
  {
    name: "too many lines",
    bytes: get("text", new Array(101).fill("x:")),
    statuses: [431],
    refused: true,
    ends: "always"
  },
  {
    name: "an unknown coding",
    bytes: (id) => `${head("POST", `/read/${id}`, ["transfer-encoding: gzip, chunked"])}0\r\n\r\n`,
    statuses: [501],
    refused: true,
    ends: "always"
  },
  { name: "HTTP/2.0", bytes: get("text", [], "HTTP/2.0"), statuses: [505], refused: true, ends: "always" },
  {
    name: "a malformed line",
    bytes: get("text", ["x y: z"]),
    statuses: [400],
    refused: true,
    unparsable: true,
    ends: "always"
  },
  {
    name: "two lengths",
    bytes: (id) => `${head("POST", `/read/${id}`, ["content-length: 1", "content-length: 2"])}ab`,
    statuses: [400],
    refused: true,
    unparsable: true,
    ends: "always"
  },
  {
    name: "a malformed chunk",
    bytes: (id) => `${head("POST", `/read/${id}`, ["transfer-encoding: chunked"])}5\r\nabcdeX\r\n0\r\n\r\n`,
    statuses: [400],
    refused: true,
    ends: "always"
  },
  {
    name: "no HTTP",
    bytes: () => "\x16\x03\x01\x02\x00\x01\x00",
    statuses: [400],
    refused: true,
    unparsable: true,
    ends: "always"
  },
  {
    name: "the preface of HTTP/2, and fields behind it",
    bytes: () => "PRI * HTTP/2.0\r\nhost: a\r\n\r\nSM\r\n\r\n",
    statuses: [400, 505],
    refused: true,
    ends: "always",
    abrupt: true
  }
]

/** Yields some chunks, each in a turn of its own, then ends, or breaks off. */
export class Slowly implements BodySource {
  #chunks: number
  readonly #whole: boolean
  #sink: BodySink | undefined
  constructor(chunks: number, whole: boolean) {
    this.#chunks = chunks
    this.#whole = whole
  }
  start(sink: BodySink): void {
    this.#sink = sink
    setImmediate(() => this.resume())
  }
  resume(): void {
    const sink = this.#sink
    if (sink === undefined) return
    if (this.#chunks > 0) {
      this.#chunks--
      if (sink.data(Buffer.from("chunk"))) setImmediate(() => this.resume())
    } else if (this.#whole) sink.end()
    else sink.fail(new BodyAborted({ source: "backend", detail: "cut" }))
  }
  cancel(): void {
    this.#sink = undefined
  }
}

const idOf = (x: Exchange) => x.request.headers.get("x-id") ?? x.request.path.slice(x.request.path.lastIndexOf("/") + 1)

/** A proxy that answers as the path says. */
const proxy: Effect.Effect<
  { readonly port: number; readonly seen: ReadonlySet<string>; readonly connections: () => number },
  never,
  Scope.Scope
> = Effect.gen(function* () {
  const backend = yield* Effect.acquireRelease(
    Effect.promise(async () => {
      const server = createServer((request, response) => {
        request.resume().on("end", () => response.setHeader("x-id", request.url!.split("/").at(-1)!).end("backend"))
      })
      await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
      return server
    }),
    (server) => Effect.sync(() => server.close().closeAllConnections())
  )
  const upstream = yield* upstreamTo(portOf(backend.address()))
  const seen = new Set<string>()
  const soon = Effect.callback<void>((resume) => {
    setImmediate(() => resume(Effect.void))
  })
  const handle = (x: Exchange): Effect.Effect<Answer> => {
    const id = idOf(x)
    seen.add(id)
    const say = (status: number, body: Answer["body"], lines: ReadonlyArray<string> = []): Answer => ({
      status,
      headers: new HeaderList(["x-id", id, ...lines]),
      body
    })
    switch (x.request.pathAndQuery === "*" ? "text" : x.request.path.split("/")[1]) {
      case "text":
        return Effect.succeed(say(200, "text"))
      case "later":
        return Effect.as(soon, say(200, "later"))
      case "empty":
        return Effect.succeed(say(200, undefined))
      case "204":
      case "304":
        return Effect.succeed(say(Number(x.request.path.slice(1, 4)), undefined))
      case "stream":
        return Effect.succeed(say(200, new Slowly(2, true), ["content-length", "10"]))
      case "chunks":
        return Effect.succeed(say(200, new Slowly(2, true)))
      case "big":
        return Effect.succeed(say(200, Buffer.alloc(300_000, "x")))
      case "backend":
        return forward(upstream)(x)
      case "defect":
        throw new Error("defect")
      case "late-defect":
        return Effect.andThen(soon, Effect.die("defect"))
      case "nonsense":
        return Effect.as(soon, say(200, 42 as never))
      case "cut":
        return Effect.succeed(say(200, new Slowly(1, false)))
      case "read":
        return Effect.match(x.readRequestBody(), {
          onSuccess: (bytes) => say(200, `${bytes.length}`),
          onFailure: (error) => say(error.status, error.message)
        })
      case "401":
        return Effect.succeed(say(401, "no"))
      case "413":
        return Effect.as(soon, say(413, "too large"))
      default:
        return Effect.succeed({
          ...say(101, new Slowly(0, true)),
          switched: { protocol: "x", outbound: (client) => client.start({ data: () => true, end() {}, fail() {} }) }
        })
    }
  }
  const { port, bound } = yield* edge(handle)
  return { port, seen, connections: bound.connections }
})

/** Some requests, and the bytes behind which a packet ends. */
export interface Pipeline {
  readonly requests: ReadonlyArray<Kind>
  readonly cuts: ReadonlyArray<number>
}

let drawn = 0

/** Sends one and says what is wrong with what came back. */
const faultOf = async (
  port: number,
  seen: ReadonlySet<string>,
  { requests, cuts }: Pipeline
): Promise<string | undefined> => {
  const ids = requests.map((_, index) => `${++drawn}.${index}`)
  const bytes = Buffer.from(requests.map((kind, index) => kind.bytes(ids[index]!)).join(""), "latin1")
  const client = new RawClient(port)
  let from = 0
  for (const cut of [...cuts, bytes.length]) {
    if (client.closed) break
    client.send(bytes.subarray(from, cut))
    from = cut
    if (cut < bytes.length) for (let i = 0; i < 3; i++) await new Promise(setImmediate)
  }
  const methods = requests.map((kind) => (kind.head ? "HEAD" : "GET"))
  const final = () => parseResponses(client.received, methods).filter(({ status }) => status >= 200 || status === 101)
  const endless = requests.findIndex((kind) => kind.ends === "always")
  const most = endless < 0 ? requests : requests.slice(0, endless + 1)
  const least = requests.findIndex((kind) => kind.ends !== undefined)
  const abrupt = requests.some((kind, index) => index > 0 && kind.abrupt)
  const silent = least > 0 && requests[least]!.unparsable === true
  const atLeast = abrupt ? 0 : least < 0 ? requests.length : silent ? least : least + 1
  try {
    await client.until(
      () => client.ended || client.closed || (endless < 0 && final().length >= requests.length),
      10_000
    )
    // The client is done, and so the proxy is: nothing more may come.
    client.socket.end()
    await client.until(() => client.ended || client.closed, 10_000)
  } catch {
    return `it stays open; received ${JSON.stringify(client.text.slice(0, 1000))}`
  } finally {
    client.socket.destroy()
  }
  const got = final()
  const said = () => JSON.stringify(client.text.slice(0, 1000))
  const wanted = most.filter((kind) => kind.statuses.length > 0)
  if (got.length > wanted.length) return `${got.length} answers to ${wanted.length} requests: ${said()}`
  const needed = requests.slice(0, atLeast).filter((kind) => kind.statuses.length > 0).length
  if (got.length < needed) return `${got.length} answers where ${needed} are due: ${said()}`
  for (const [index, response] of got.entries()) {
    const kind = wanted[index]!
    const id = ids[requests.indexOf(kind) === index ? index : most.indexOf(kind, index)]
    const told = response.headers.find(([name]) => name === "x-id")?.[1]
    if (!kind.statuses.includes(response.status)) return `${kind.name} was answered with ${response.status}: ${said()}`
    if (response.status !== 500 && told !== (kind.refused ? undefined : id))
      return `${kind.name} got the answer of ${told}: ${said()}`
    if (kind.ends === "always" && response.status !== 101 && !/^connection: close$/im.test(response.head))
      return `the answer to ${kind.name} does not say that it is the last: ${said()}`
  }
  const beyond = ids.slice(most.length).find((id) => seen.has(id))
  if (beyond !== undefined) return `${beyond} was served, behind the end: ${said()}`
  return undefined
}

/** Pairs of all kinds. `stride`: cut behind each so-manieth byte; `0` in no place. */
export const pairs = function* (stride: number): Generator<Pipeline> {
  let index = 0
  for (const first of kinds)
    for (const second of kinds) {
      const requests = [first, second]
      yield { requests, cuts: [] }
      const length = lengthOf(requests)
      if (stride > 0)
        for (let cut = 1 + (index++ % stride); cut < length; cut += stride) yield { requests, cuts: [cut] }
    }
}

/** Every pair, byte by byte. */
export const dripped = function* (every: number): Generator<Pipeline> {
  let index = 0
  for (const first of kinds)
    for (const second of kinds) {
      const requests = [first, second]
      if (index++ % every === 0)
        yield { requests, cuts: Array.from({ length: lengthOf(requests) - 1 }, (_, cut) => cut + 1) }
    }
}

/** Some sequences of three and more, with up to three cuts. */
export const drawnPipelines = function* (count: number, seed: number): Generator<Pipeline> {
  let state = seed >>> 0
  const below = (bound: number) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * bound)
  }
  for (let i = 0; i < count; i++) {
    const requests = Array.from({ length: 3 + below(3) }, () => kinds[below(kinds.length)]!)
    const length = lengthOf(requests)
    const cuts = Array.from({ length: below(4) }, () => 1 + below(length - 1)).sort((a, b) => a - b)
    yield { requests, cuts }
  }
}

/** Long bodies are cut in their first bytes alone. */
const lengthOf = (requests: ReadonlyArray<Kind>): number =>
  Math.min(
    600,
    requests.reduce((sum, kind) => sum + kind.bytes("00000.0").length, 0)
  )

/** Opens a proxy, and yields how a pipeline is sent to it: the promise says what was wrong. */
export const pipelineProxy: Effect.Effect<(pipeline: Pipeline) => Promise<string | undefined>, never, Scope.Scope> =
  Effect.map(proxy, ({ port, seen }) => async (pipeline) => {
    const fault = await faultOf(port, seen, pipeline)
    return fault ?? (seen.has("hidden") ? "what stands in a body was served" : undefined)
  })

/** Sends all of them, many at a time, and yields those that went wrong, up to ten. */
export const faults = (
  pipelines: Iterable<Pipeline>
): Effect.Effect<{ readonly count: number; readonly faults: ReadonlyArray<string> }, never, Scope.Scope> =>
  Effect.gen(function* () {
    const { port, seen, connections } = yield* proxy
    const found: Array<string> = []
    let count = 0
    const iterator = pipelines[Symbol.iterator]()
    const worker = async () => {
      for (let next = iterator.next(); next.done !== true && found.length < 10; next = iterator.next()) {
        count++
        const fault = await faultOf(port, seen, next.value)
        const { requests, cuts } = next.value
        if (fault !== undefined)
          found.push(`${requests.map(({ name }) => name).join(" + ")}, cut at ${cuts.slice(0, 5)}: ${fault}`)
      }
    }
    yield* Effect.promise(() => Promise.all(Array.from({ length: 64 }, worker)))
    if (seen.has("hidden")) found.push("what stands in a body was served")
    const deadline = Date.now() + 3000
    while (connections() > 0 && Date.now() < deadline) yield* Effect.sleep(10)
    if (connections() > 0) found.push(`${connections()} connections stay open`)
    return { count, faults: found }
  })
