/**
 * The load generator, a process of its own: keep-alive connections over node:net, either as fast as answers come, or at a
 * fixed rate whose latencies count from when a request was due and not from when a connection was free for it.
 */
import { connect, type Socket } from "node:net"
import { connect as connectSecurely } from "node:tls"
import { type Http2Request, streams } from "./load-http2.ts"

export interface Job {
  readonly port: number
  readonly connections: number
  /** Milliseconds. */
  readonly duration: number
  /** The bytes of requests, latin1: each connection repeats one of them. */
  readonly requests: ReadonlyArray<string>
  /** Requests per second; `undefined`: as fast as they are answered. */
  readonly rate: number | undefined
  /** Latencies are wanted without a rate, too: from when a request was sent. */
  readonly timed?: boolean
  /** Over TLS, whoever the server is. */
  readonly secure?: boolean | undefined
  /** Over TLS in HTTP/2, instead of `requests`: as many streams at once as connections are told, over a few sessions. */
  readonly http2?: Http2Request | undefined
}

export interface Result {
  readonly requests: number
  /** Answers with a status that is not 2xx, and connections that broke. */
  readonly errors: number
  /** Milliseconds from when a request was due, sorted; without a rate, and if so wanted, from when it was sent. */
  readonly latencies: ReadonlyArray<number>
  /** What actually went by, in milliseconds. */
  readonly elapsed: number
}

/** Whatever carries one request at a time. */
interface Client {
  readonly send: (answered: (ok: boolean) => void) => void
  readonly close: () => void
}

/** One connection. */
class Connection implements Client {
  readonly #socket: Socket
  #head = ""
  /** Bytes of the body that are still to come; -1 while the head is. */
  #left = -1
  #chunked = false
  #answered: (ok: boolean) => void = () => {}

  readonly #request: string

  constructor(port: number, request: string, secure: boolean) {
    this.#request = request
    const to = { port, host: "127.0.0.1", noDelay: true }
    this.#socket = secure ? connectSecurely({ ...to, servername: "localhost", rejectUnauthorized: false }) : connect(to)
    this.#socket.on("data", (chunk: Buffer) => this.#data(chunk))
    this.#socket.on("error", () => {})
    this.#socket.on("close", () => this.#answered(false))
  }

  send(answered: (ok: boolean) => void): void {
    this.#answered = answered
    this.#socket.write(this.#request, "latin1")
  }

  close(): void {
    this.#answered = () => {}
    this.#socket.destroy()
  }

  #data(chunk: Buffer): void {
    if (this.#left > 0) {
      this.#left -= chunk.length
    } else {
      this.#head += chunk.toString("latin1")
      const end = this.#head.indexOf("\r\n\r\n")
      if (end < 0) return
      if (this.#left < 0) {
        const length = /\r\ncontent-length: *([0-9]+)/i.exec(this.#head.slice(0, end + 2))?.[1]
        this.#chunked = length === undefined
        this.#left = this.#chunked ? 0 : Number(length) - (this.#head.length - end - 4)
      }
    }
    if (this.#left > 0 || (this.#chunked && !this.#head.endsWith("0\r\n\r\n"))) return
    const ok = this.#head.startsWith("HTTP/1.1 2")
    this.#head = ""
    this.#left = -1
    this.#answered(ok)
  }
}

const run = async ({
  port,
  connections,
  duration,
  requests: texts,
  rate,
  timed = false,
  secure = false,
  http2
}: Job): Promise<Result> => {
  let requests = 0
  let errors = 0
  const latencies: Array<number> = []
  const clients: ReadonlyArray<Client> =
    http2 === undefined
      ? Array.from({ length: connections }, (_, i) => new Connection(port, texts[i % texts.length]!, secure))
      : await streams(port, connections, http2)
  const start = performance.now()
  if (rate === undefined) {
    let open = true
    const drive = (client: Client) => {
      const sent = timed ? performance.now() : 0
      client.send((ok) => {
        if (!open) return
        requests++
        if (timed) latencies.push(performance.now() - sent)
        if (!ok) {
          errors++
          return
        }
        drive(client)
      })
    }
    for (const client of clients) drive(client)
    await new Promise((resolve) => setTimeout(resolve, duration))
    open = false
  } else {
    const total = Math.floor((rate * duration) / 1000)
    const free = [...clients]
    let due = 0
    await new Promise<void>((resolve) => {
      const give = () => {
        const now = performance.now() - start
        while (due < total && (due * 1000) / rate <= now && free.length > 0) {
          const client = free.pop()!
          const scheduled = (due++ * 1000) / rate
          client.send((ok) => {
            requests++
            if (!ok) errors++
            latencies.push(performance.now() - start - scheduled)
            free.push(client)
            if (requests === total) resolve()
          })
        }
        if (due < total) setImmediate(give)
      }
      give()
      // A proxy that cannot keep up must not keep us.
      setTimeout(resolve, duration * 3)
    })
  }
  const elapsed = performance.now() - start
  for (const client of clients) client.close()
  return { requests, errors, latencies: latencies.sort((a, b) => a - b), elapsed }
}

process.on("message", (job: Job) => {
  void run(job).then((result) => process.send?.(result))
})
