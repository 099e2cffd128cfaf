/** The load generator's other version: streams of HTTP/2 over TLS, many of them on each of a few sessions. */
import { once } from "node:events"
import { type ClientHttp2Session, connect } from "node:http2"

export interface Http2Request {
  /** Pseudo-fields, then the others. */
  readonly fields: ReadonlyArray<string>
  readonly body: string
}

const sessions = 4

/** Carries one request at a time, each on a stream of its own. */
class Lane {
  readonly #session: ClientHttp2Session
  readonly #request: Http2Request

  constructor(session: ClientHttp2Session, request: Http2Request) {
    this.#session = session
    this.#request = request
  }

  send(answered: (ok: boolean) => void): void {
    if (this.#session.destroyed || this.#session.closed) {
      answered(false)
      return
    }
    const { fields, body } = this.#request
    const stream = this.#session.request([...fields], { endStream: body === "" })
    let ok = false
    let ended = false
    stream.on("response", ({ ":status": status = 0 }) => {
      ok = status >= 200 && status < 300
    })
    stream.on("end", () => {
      ended = true
    })
    stream.on("error", () => {})
    stream.on("close", () => answered(ok && ended && stream.rstCode === 0))
    stream.resume()
    if (body !== "") stream.end(body)
  }

  close(): void {
    this.#session.destroy()
  }
}

export const streams = async (port: number, lanes: number, request: Http2Request): Promise<ReadonlyArray<Lane>> => {
  const opened = Array.from({ length: sessions }, () =>
    connect(`https://127.0.0.1:${port}`, { servername: "localhost", rejectUnauthorized: false }).on("error", () => {})
  )
  await Promise.all(opened.map((session) => once(session, "remoteSettings")))
  return Array.from({ length: lanes }, (_, i) => new Lane(opened[i % sessions]!, request))
}
