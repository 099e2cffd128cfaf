/**
 * The unit of all ratios: node:http and undici's `Pool.dispatch` with a raw handler, and nothing else. It forwards
 * method, path and headers and streams the response; it knows no errors, no limits and no policies. With a certificate and
 * a key it is node:https.
 */
import { readFileSync } from "node:fs"
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import { createServer as createSecureServer } from "node:https"
import { type Dispatcher, Pool } from "undici"

const [port, upstream] = [Number(process.argv[2]), Number(process.argv[3])]
const [cert, key] = process.argv.slice(4)

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

const options = { keepAliveTimeout: 60_000 }
const server =
  cert === undefined || key === undefined
    ? createServer(options, serve)
    : createSecureServer({ ...options, cert: readFileSync(cert), key: readFileSync(key) }, serve)
server.listen(port, "127.0.0.1")
