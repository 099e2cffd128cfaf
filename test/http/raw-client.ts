/** A client that sends exactly the bytes it is told, and shows exactly what comes back. */
import { connect, type Socket } from "node:net"
import { Effect } from "effect"

export class RawClient {
  readonly socket: Socket
  #chunks: Array<Buffer> = []
  /** Bytes that were received. */
  size = 0
  /** The peer stopped sending. */
  ended = false
  closed = false
  /** The connection was reset. */
  reset = false
  #changed: () => void = () => {}

  /** @param from the address that it comes from. */
  constructor(port: number, host = "127.0.0.1", from?: string) {
    this.socket = connect({
      port,
      host,
      ...(from === undefined ? {} : { localAddress: from }),
      allowHalfOpen: true,
      noDelay: true
    })
    this.socket.on("data", (chunk: Buffer) => {
      this.#chunks.push(chunk)
      this.size += chunk.length
      this.#changed()
    })
    this.socket.on("end", () => {
      this.ended = true
      this.#changed()
    })
    this.socket.on("error", (error: NodeJS.ErrnoException) => {
      this.reset = error.code === "ECONNRESET"
    })
    this.socket.on("close", () => {
      this.closed = true
      this.#changed()
    })
  }

  get received(): Buffer {
    if (this.#chunks.length !== 1) this.#chunks = [Buffer.concat(this.#chunks)]
    return this.#chunks[0]!
  }

  get text(): string {
    return this.received.toString("latin1")
  }

  send(bytes: string | Uint8Array): this {
    this.socket.write(typeof bytes === "string" ? Buffer.from(bytes, "latin1") : bytes)
    return this
  }

  /** Waits until what was received looks so; fails after a while, and says what came instead. */
  async until(holds: (client: this) => boolean, patience = 20_000): Promise<this> {
    const deadline = Date.now() + patience
    while (!holds(this)) {
      const left = deadline - Date.now()
      if (left <= 0) throw new Error(`not so within ${patience} ms; received ${JSON.stringify(this.text.slice(-2000))}`)
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, left)
        this.#changed = () => {
          clearTimeout(timer)
          resolve()
        }
      })
    }
    return this
  }

  /** Everything up to the end of what the peer sends. */
  async toEnd(patience?: number): Promise<string> {
    await this.until((client) => client.ended || client.closed, patience)
    this.socket.destroy()
    return this.text
  }

  /** Waits for a number of whole responses with content-length or chunked bodies, and yields them. */
  async responses(count: number, patience?: number): Promise<ReadonlyArray<RawResponse>> {
    await this.until((client) => parseResponses(client.received).length >= count || client.closed, patience)
    return parseResponses(this.received)
  }
}

export interface RawResponse {
  readonly status: number
  readonly head: string
  readonly headers: ReadonlyArray<readonly [name: string, value: string]>
  readonly body: Buffer
  readonly trailers: ReadonlyArray<readonly [name: string, value: string]>
}

const lines = (text: string) =>
  text
    .split("\r\n")
    .filter((line) => line !== "")
    .map((line) => [line.slice(0, line.indexOf(":")).toLowerCase(), line.slice(line.indexOf(":") + 1).trim()] as const)

/** The whole responses at the beginning of some bytes. Written for tests: it believes what it reads. */
export const parseResponses = (bytes: Buffer, requests: ReadonlyArray<string> = []): ReadonlyArray<RawResponse> => {
  const found: Array<RawResponse> = []
  let rest = bytes
  let finals = 0
  for (;;) {
    const end = rest.indexOf("\r\n\r\n")
    if (end < 0) return found
    const head = rest.subarray(0, end).toString("latin1")
    const headers = lines(head.slice(head.indexOf("\r\n")))
    const status = Number(head.split(" ")[1])
    const get = (name: string) => headers.find(([key]) => key === name)?.[1]
    let offset = end + 4
    let body: Buffer = Buffer.alloc(0)
    let trailers: RawResponse["trailers"] = []
    if (status < 200 || status === 204 || status === 304 || requests[finals] === "HEAD") {
      // No body.
    } else if (get("transfer-encoding") === "chunked") {
      const chunks: Array<Buffer> = []
      for (;;) {
        const eol = rest.indexOf("\r\n", offset)
        if (eol < 0) return found
        const size = Number.parseInt(rest.subarray(offset, eol).toString("latin1"), 16)
        offset = eol + 2
        if (size === 0) {
          const close = rest.indexOf("\r\n\r\n", offset - 2)
          if (close < 0) return found
          trailers = lines(rest.subarray(offset, close).toString("latin1"))
          offset = close + 4
          break
        }
        if (rest.length < offset + size + 2) return found
        chunks.push(rest.subarray(offset, offset + size))
        offset += size + 2
      }
      body = Buffer.concat(chunks)
    } else {
      const length = Number(get("content-length") ?? rest.length - offset)
      if (rest.length < offset + length) return found
      body = rest.subarray(offset, offset + length)
      offset += length
    }
    if (status >= 200) finals++
    found.push({ status, head, headers, body, trailers })
    rest = rest.subarray(offset)
  }
}

/** Waits until something holds that no event tells. */
export const eventually = async (holds: () => boolean, patience = 20_000): Promise<void> => {
  const deadline = Date.now() + patience
  while (!holds()) {
    if (Date.now() > deadline) throw new Error(`did not hold within ${patience} ms: ${holds}`)
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}

/** The value of the first header line of that name. */
export const header = (response: RawResponse | undefined, name: string) =>
  response?.headers.find(([key]) => key === name)?.[1]

/** Sends bytes and waits for a number of responses. */
export const exchange = (port: number, bytes: string | Buffer, count = 1) =>
  Effect.promise(async () => {
    const client = new RawClient(port).send(bytes)
    const responses = await client.responses(count)
    client.socket.destroy()
    return responses
  })
