/** An HTTP client for tests that adds nothing to what it is told, and shows an answer as it came. */
import { Agent, request } from "node:http"
import { buffer } from "node:stream/consumers"

export interface Sent {
  readonly method?: string | undefined
  readonly path?: string | undefined
  readonly headers?: Readonly<Record<string, string>> | undefined
  readonly body?: string | Uint8Array | undefined
  /** Default: a connection of its own, closed afterwards. */
  readonly agent?: Agent | undefined
  readonly signal?: AbortSignal | undefined
}

export interface Received {
  readonly status: number
  /** Lower-case names in the order in which they came; those that only the connection concerns are left out. */
  readonly headers: Readonly<Record<string, string | ReadonlyArray<string>>>
  readonly body: string
}

const ofTheConnection = new Set(["connection", "date", "keep-alive", "transfer-encoding"])

/** Sends a request to a port of this machine, or to a Unix socket, and waits for the whole answer. */
export const send = (
  to: number | string,
  { method = "GET", path = "/", headers = {}, body, agent, signal }: Sent = {}
): Promise<Received> =>
  new Promise((resolve, reject) => {
    const length =
      body === undefined || headers["transfer-encoding"] !== undefined
        ? {}
        : { "content-length": String(Buffer.byteLength(body)) }
    const outgoing = request(
      {
        ...(typeof to === "number" ? { host: "127.0.0.1", port: to } : { socketPath: to }),
        method,
        path,
        headers: { ...length, ...headers },
        agent: agent ?? new Agent({ keepAlive: false }),
        ...(signal === undefined ? {} : { signal })
      },
      (response) => {
        const shown: Record<string, string | Array<string>> = {}
        for (let i = 0; i < response.rawHeaders.length; i += 2) {
          const name = response.rawHeaders[i]!.toLowerCase()
          const value = response.rawHeaders[i + 1]!
          if (ofTheConnection.has(name)) continue
          const before = shown[name]
          shown[name] = before === undefined ? value : Array.isArray(before) ? [...before, value] : [before, value]
        }
        buffer(response).then(
          (bytes) => resolve({ status: response.statusCode!, headers: shown, body: bytes.toString("utf8") }),
          reject
        )
      }
    )
    outgoing.on("error", reject)
    outgoing.end(body)
  })
