/**
 * The unit of all ratios: node:http and undici's `Pool.dispatch` with a raw handler, and nothing else. It forwards
 * method, path and headers and streams the response; it knows no errors, no limits and no policies. With a certificate and
 * a key it is node:https, and where they are followed by `h2`, node:http2 by its streams, which cost less than its requests.
 */
import { readFileSync } from "node:fs"
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import { createSecureServer as createHttp2Server, type ServerHttp2Stream } from "node:http2"
import { createServer as createSecureServer } from "node:https"
import { type Dispatcher, Pool } from "undici"

const [port, upstream] = [Number(process.argv[2]), Number(process.argv[3])]
const [cert, key, protocol] = process.argv.slice(4)

const pool = new Pool(`http://127.0.0.1:${upstream}`, {
  pipelining: 1,
  allowH2: false,
  headersTimeout: 0,
  bodyTimeout: 0,
  keepAliveTimeout: 60_000
})

const kept = new Set(["connection", "keep-alive", "transfer-encoding", "expect", "upgrade"])
const withoutConnection = (raw: ReadonlyArray<string>): Array<string> => {
  const lines: Array<string> = []
  for (let i = 0; i < raw.length; i += 2) if (!kept.has(raw[i]!.toLowerCase())) lines.push(raw[i]!, raw[i + 1]!)
  return lines
}

class Relay implements Dispatcher.DispatchHandler {
  readonly #response: ServerResponse
  constructor(response: ServerResponse) {
    this.#response = response
  }
  onRequestStart(): void {}
  onResponseStart(controller: Dispatcher.DispatchController, status: number): void {
    const raw = controller.rawHeaders
    const lines = Array.isArray(raw) ? raw.map((line) => line.toString("latin1")) : []
    this.#response.writeHead(status, withoutConnection(lines))
  }
  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#response.write(chunk)) return
    controller.pause()
    this.#response.once("drain", () => controller.resume())
  }
  onResponseEnd(): void {
    this.#response.end()
  }
  onResponseError(): void {
    this.#response.destroy()
  }
}

const serve = (request: IncomingMessage, response: ServerResponse) =>
  pool.dispatch(
    {
      method: request.method!,
      path: request.url!,
      headers: withoutConnection(request.rawHeaders),
      body: request.method === "GET" || request.method === "HEAD" ? null : request
    },
    new Relay(response)
  )

class StreamRelay implements Dispatcher.DispatchHandler {
  readonly #stream: ServerHttp2Stream
  constructor(stream: ServerHttp2Stream) {
    this.#stream = stream
  }
  onRequestStart(): void {}
  onResponseStart(controller: Dispatcher.DispatchController, status: number): void {
    const raw = controller.rawHeaders
    const lines = Array.isArray(raw) ? raw.map((line) => line.toString("latin1")) : []
    this.#stream.respond([":status", String(status), ...withoutConnection(lines)])
  }
  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#stream.write(chunk)) return
    controller.pause()
    this.#stream.once("drain", () => controller.resume())
  }
  onResponseEnd(): void {
    this.#stream.end()
  }
  onResponseError(): void {
    this.#stream.destroy()
  }
}

/** Pseudo-fields come before all others. */
const withoutPseudo = (raw: ReadonlyArray<string>): Array<string> => {
  let from = 0
  while (raw[from]?.startsWith(":") === true) from += 2
  return withoutConnection(raw.slice(from))
}

/** A body is collected: undici gives up one whose stream ends because the answer came first. */
const serveHttp2 = (cert: Buffer, key: Buffer) =>
  createHttp2Server({ cert, key }).on("stream", (stream: ServerHttp2Stream, head, _, raw) => {
    stream.on("error", () => {})
    const headers = ["host", head[":authority"]!, ...withoutPseudo(raw)]
    const send = (body: Buffer | null) =>
      pool.dispatch({ method: head[":method"]!, path: head[":path"]!, headers, body }, new StreamRelay(stream))
    if (stream.endAfterHeaders) {
      send(null)
      return
    }
    const chunks: Array<Buffer> = []
    stream.on("data", (chunk: Buffer) => chunks.push(chunk)).on("end", () => send(Buffer.concat(chunks)))
  })

const options = { keepAliveTimeout: 60_000 }
const serverOf = () => {
  if (cert === undefined || key === undefined) return createServer(options, serve)
  const files = { cert: readFileSync(cert), key: readFileSync(key) }
  return protocol === "h2" ? serveHttp2(files.cert, files.key) : createSecureServer({ ...options, ...files }, serve)
}
serverOf().listen(port, "127.0.0.1")
