/** Backends that speak HTTP/2: on node's own server, and by hand, frame by frame. */
import { createServer, type Http2Server, type Http2Session, type ServerHttp2Stream } from "node:http2"
import type { Socket } from "node:net"
import { Effect } from "effect"
import { portOf, tcpBackend } from "../http/edge.ts"

export interface Http2Backend {
  readonly port: number
  readonly sessions: ReadonlyArray<Http2Session>
}

/** A backend without TLS; it is told of each stream with its fields, and with which of its sessions it came, counted from 0. */
export const http2Backend = (
  handle: (stream: ServerHttp2Stream, fields: ReadonlyArray<string>, session: number) => void,
  settings: Parameters<typeof createServer>[0] = {}
) =>
  Effect.map(
    Effect.acquireRelease(
      Effect.promise(async () => {
        const sessions: Array<Http2Session> = []
        const server: Http2Server = createServer({ strictSingleValueFields: false, ...settings } as typeof settings)
        server.on("session", (session) => {
          sessions.push(session)
          session.on("error", () => {})
        })
        server.on("stream", (stream: ServerHttp2Stream, _: unknown, __: unknown, raw: ReadonlyArray<string>) => {
          stream.on("error", () => {})
          handle(stream, raw, sessions.indexOf(stream.session!))
        })
        await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
        return { server, sessions }
      }),
      ({ server, sessions }) =>
        Effect.promise(
          () =>
            new Promise<void>((resolve) => {
              server.close(() => resolve())
              for (const session of sessions) session.destroy()
            })
        )
    ),
    ({ server, sessions }): Http2Backend => ({ port: portOf(server.address()), sessions })
  )

export const frameTypes = {
  data: 0,
  headers: 1,
  reset: 3,
  settings: 4,
  push: 5,
  ping: 6,
  goaway: 7,
  window: 8,
  continuation: 9
} as const

/** The bytes of a frame (RFC 9113 4.1). */
export const frame = (type: number, flags: number, stream: number, payload: Uint8Array = Buffer.alloc(0)): Buffer => {
  const head = Buffer.alloc(9)
  head.writeUIntBE(payload.length, 0, 3)
  head[3] = type
  head[4] = flags
  head.writeUInt32BE(stream, 5)
  return Buffer.concat([head, payload])
}

/** Fields as literals that nobody indexes (RFC 7541 6.2.2): any bytes, well-formed or not. */
export const literals = (fields: ReadonlyArray<string>): Buffer => {
  const parts: Array<Buffer> = []
  const text = (value: string) => {
    const bytes = Buffer.from(value, "latin1")
    let length = bytes.length
    if (length < 127) parts.push(Buffer.of(length))
    else {
      const prefix = [127]
      length -= 127
      for (; length >= 128; length = Math.floor(length / 128)) prefix.push((length % 128) + 128)
      parts.push(Buffer.of(...prefix, length))
    }
    parts.push(bytes)
  }
  for (let i = 0; i < fields.length; i += 2) {
    parts.push(Buffer.of(0))
    text(fields[i]!)
    text(fields[i + 1]!)
  }
  return Buffer.concat(parts)
}

export const number32 = (value: number): Buffer => {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value)
  return bytes
}

export interface Frame {
  readonly type: number
  readonly flags: number
  readonly stream: number
  readonly payload: Buffer
}

const preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

/**
 * A backend that speaks frames. It tells its settings and acknowledges those of others, and `told` decides about the rest.
 * @param hello what it sends first, in place of empty settings.
 */
export const frameBackend = (
  told: (frame: Frame, socket: Socket, connection: number) => void,
  hello: Buffer = frame(frameTypes.settings, 0, 0)
) =>
  tcpBackend((socket, connection) => {
    let rest = Buffer.alloc(0)
    let isGreeted = false
    socket.write(hello)
    socket.on("data", (bytes: Buffer) => {
      rest = Buffer.concat([rest, bytes])
      if (!isGreeted) {
        if (rest.length < preface.length) return
        isGreeted = true
        rest = rest.subarray(preface.length)
      }
      while (rest.length >= 9) {
        const length = rest.readUIntBE(0, 3)
        if (rest.length < 9 + length) return
        const one = {
          type: rest[3]!,
          flags: rest[4]!,
          stream: rest.readUInt32BE(5),
          payload: Buffer.from(rest.subarray(9, 9 + length))
        }
        rest = rest.subarray(9 + length)
        if (one.type === frameTypes.settings && one.flags === 0) socket.write(frame(frameTypes.settings, 1, 0))
        else told(one, socket, connection)
      }
    })
  })
