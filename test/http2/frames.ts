/** Frames of HTTP/2 by hand: what no client would send, and what of a session no client shows. */
import { connect, type Socket } from "node:net"

export const preface = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "latin1")

export const type = {
  data: 0,
  headers: 1,
  priority: 2,
  reset: 3,
  settings: 4,
  ping: 6,
  goaway: 7,
  windowUpdate: 8,
  continuation: 9
} as const

export const flag = { endStream: 1, ack: 1, endHeaders: 4 } as const

export const frame = (kind: number, flags: number, stream: number, payload: Uint8Array = Buffer.alloc(0)): Buffer => {
  const head = Buffer.alloc(9)
  head.writeUIntBE(payload.length, 0, 3)
  head[3] = kind
  head[4] = flags
  head.writeUInt32BE(stream, 5)
  return Buffer.concat([head, payload])
}

/** A field that no table holds, neither before nor afterwards. */
export const field = (name: string, value: string): Buffer =>
  Buffer.concat([
    Buffer.from([0]),
    length(name.length),
    Buffer.from(name, "latin1"),
    length(value.length),
    Buffer.from(value, "latin1")
  ])

const length = (value: number): Buffer => {
  if (value < 127) return Buffer.from([value])
  const bytes = [127]
  let rest = value - 127
  for (; rest >= 128; rest >>= 7) bytes.push((rest & 127) | 128)
  bytes.push(rest)
  return Buffer.from(bytes)
}

export const fields = (...pairs: ReadonlyArray<readonly [name: string, value: string]>): Buffer =>
  Buffer.concat(pairs.map(([name, value]) => field(name, value)))

export const request = (
  stream: number,
  { method = "GET", path = "/", more = [], end = true }: Partial<RequestParts> = {}
): Buffer =>
  frame(
    type.headers,
    flag.endHeaders | (end ? flag.endStream : 0),
    stream,
    fields([":method", method], [":path", path], [":scheme", "http"], [":authority", "a"], ...more)
  )

interface RequestParts {
  readonly method: string
  readonly path: string
  readonly more: ReadonlyArray<readonly [string, string]>
  readonly end: boolean
}

export const resetCode = (code: number): Buffer => {
  const payload = Buffer.alloc(4)
  payload.writeUInt32BE(code)
  return payload
}

/** One frame that came. */
export interface Frame {
  readonly type: number
  readonly flags: number
  readonly stream: number
  readonly payload: Buffer
}

/** A client that has sent its preface and its settings, and keeps all frames that come. */
export class RawSession {
  readonly socket: Socket
  readonly frames: Array<Frame> = []
  closed = false
  #rest: Buffer = Buffer.alloc(0)

  constructor(port: number, begin = true) {
    this.socket = connect(port, "127.0.0.1")
    this.socket.on("error", () => {})
    this.socket.on("close", () => {
      this.closed = true
    })
    this.socket.on("data", (bytes: Buffer) => this.#read(bytes))
    if (begin) this.send(preface, frame(type.settings, 0, 0))
  }

  send(...frames: ReadonlyArray<Uint8Array>): void {
    if (!this.socket.destroyed) this.socket.write(Buffer.concat(frames))
  }

  #read(bytes: Buffer): void {
    let rest = Buffer.concat([this.#rest, bytes])
    while (rest.length >= 9) {
      const size = rest.readUIntBE(0, 3)
      if (rest.length < 9 + size) break
      this.frames.push({
        type: rest[3]!,
        flags: rest[4]!,
        stream: rest.readUInt32BE(5),
        payload: rest.subarray(9, 9 + size)
      })
      rest = rest.subarray(9 + size)
    }
    this.#rest = rest
  }

  of(kind: number, stream?: number): ReadonlyArray<Frame> {
    return this.frames.filter((each) => each.type === kind && (stream === undefined || each.stream === stream))
  }
}
