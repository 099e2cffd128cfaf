/** Clients of HTTP/2, as Node has them. */
import {
  type ClientHttp2Session,
  type ClientSessionOptions,
  connect,
  type SecureClientSessionOptions
} from "node:http2"
import { Effect } from "effect"
import { pem } from "../tls/edge.ts"

export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, unknown>>
  readonly raw: ReadonlyArray<string>
  readonly informed: ReadonlyArray<number>
  readonly body: string
  readonly trailers: Readonly<Record<string, unknown>>
  readonly code: number
}

export interface Asked {
  readonly method?: string
  readonly headers?: Readonly<Record<string, string | Array<string>>>
  readonly body?: string | Uint8Array
  readonly trailers?: Readonly<Record<string, string>>
}

/** A session that is closed with the scope. */
export const session = (
  port: number,
  options: ClientSessionOptions | SecureClientSessionOptions = {},
  scheme = "http"
) =>
  Effect.acquireRelease(
    Effect.promise(
      () =>
        new Promise<ClientHttp2Session>((resolve, reject) => {
          const made = connect(`${scheme}://localhost:${port}`, {
            ...(scheme === "https" ? { ca: pem("authority.pem") } : {}),
            lookup: (_, __, done) => done(null, [{ address: "127.0.0.1", family: 4 }]),
            ...options
          })
          made.on("error", reject)
          made.on("connect", () => resolve(made))
        })
    ),
    (made) => Effect.sync(() => made.destroy())
  )

/** One request, until its stream is closed. */
export const ask = (made: ClientHttp2Session, path: string, asked: Asked = {}): Promise<Answer> =>
  new Promise((resolve, reject) => {
    const { body, trailers } = asked
    const method = asked.method ?? (body === undefined ? "GET" : "POST")
    const stream = made.request(
      { ":path": path, ":method": method, ...asked.headers },
      { endStream: body === undefined && trailers === undefined, waitForTrailers: trailers !== undefined }
    )
    const answer = { status: 0, headers: {}, raw: [] as ReadonlyArray<string>, trailers: {} }
    const informed: Array<number> = []
    const chunks: Array<Buffer> = []
    if (trailers !== undefined) stream.on("wantTrailers", () => stream.sendTrailers(trailers))
    stream.on("headers", (headers) => informed.push(Number(headers[":status"])))
    stream.on("response", (headers, _, raw) => {
      answer.status = Number(headers[":status"])
      answer.headers = headers
      answer.raw = raw ?? []
    })
    stream.on("trailers", (headers) => {
      answer.trailers = headers
    })
    stream.on("data", (chunk: Buffer) => chunks.push(chunk))
    stream.on("error", () => {})
    stream.on("close", () => {
      if (stream.rstCode !== 0 && answer.status === 0) reject(new Error(`reset ${stream.rstCode}`))
      else resolve({ ...answer, informed, body: Buffer.concat(chunks).toString(), code: stream.rstCode ?? 0 })
    })
    if (body !== undefined || trailers !== undefined) stream.end(body)
  })

/** The same as an effect. */
export const asking = (made: ClientHttp2Session, path: string, asked: Asked = {}) =>
  Effect.promise(() => ask(made, path, asked))
