/** A whole proxy that passes connections on, and backends that see them. */
import { once } from "node:events"
import { createServer, type Socket } from "node:net"
import { createServer as createTlsServer, type TlsOptions } from "node:tls"
import { Effect, type Scope } from "effect"
import { type Headgate, start } from "../../src/main/library.ts"
import { portOf } from "../http/edge.ts"
import { RawClient } from "../http/raw-client.ts"

/** What a backend sees of a connection. */
export interface Seen {
  readonly socket: Socket
  readonly text: () => string
  readonly ended: () => boolean
  readonly closed: () => boolean
  /** The code of the error by which it was broken. */
  readonly broken: () => string | undefined
}

export interface TcpBackend {
  readonly port: number
  readonly seen: ReadonlyArray<Seen>
}

/** A backend that answers with nothing by itself. @param connected told of each connection. */
export const backend = (
  connected: (socket: Socket) => void = () => {},
  tls?: TlsOptions,
  at: number | string = 0
): Effect.Effect<TcpBackend, never, Scope.Scope> =>
  Effect.gen(function* () {
    const seen: Array<Seen> = []
    const take = (socket: Socket) => {
      let text = ""
      let broken: string | undefined
      let closed = false
      socket
        .on("data", (bytes: Buffer) => {
          text += bytes.toString("latin1")
        })
        .on("error", (error: NodeJS.ErrnoException) => {
          broken = error.code
        })
        .on("close", () => {
          closed = true
        })
      seen.push({
        socket,
        text: () => text,
        ended: () => socket.readableEnded,
        closed: () => closed,
        broken: () => broken
      })
      connected(socket)
    }
    const server =
      tls === undefined
        ? createServer({ allowHalfOpen: true }, take)
        : createTlsServer({ ...tls, allowHalfOpen: true }, take)
    yield* Effect.acquireRelease(
      Effect.promise(async () => {
        if (typeof at === "string") server.listen(at)
        else server.listen(at, "127.0.0.1")
        await once(server, "listening")
      }),
      () =>
        Effect.sync(() => {
          for (const { socket } of seen) socket.destroy()
          server.close()
        })
    )
    return { port: typeof at === "string" ? 0 : portOf(server.address()), seen }
  })

/** Says its name, then gives back what it is sent. */
export const greeting = (name: string) => (socket: Socket) => {
  socket.write(`${name}:`)
  socket.on("data", (bytes) => socket.write(bytes)).on("end", () => socket.end())
}

export interface TcpProxy {
  readonly gateway: Headgate
  readonly port: number
  readonly log: ReadonlyArray<string>
  readonly metrics: Effect.Effect<string>
}

/** Serves a configuration on a port of this machine: that of 7000. */
export const proxy = (text: string): Effect.Effect<TcpProxy, never, Scope.Scope> =>
  Effect.gen(function* () {
    const log: Array<string> = []
    const options = { ephemeral: true, host: "127.0.0.1", log: (line: string) => void log.push(line) }
    const gateway = yield* Effect.orDie(start(text, options))
    const metrics = Effect.promise(async () => (await fetch(`http://127.0.0.1:${gateway.ports.stats}/metrics`)).text())
    return { gateway, port: gateway.port(7000)!, log, metrics }
  })

/** A client that is gone with the scope. */
export const client = (port: number, from?: string): Effect.Effect<RawClient, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.sync(() => new RawClient(port, "127.0.0.1", from)),
    ({ socket }) => Effect.sync(() => socket.destroy())
  )
