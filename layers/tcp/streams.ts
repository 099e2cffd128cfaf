/** Connections of bytes to backends, made as those of HTTP are: with the same times, addresses, trust and tunnels, but none is kept. */
import type { Socket } from "node:net"
import { Clock, Effect, type Scope } from "effect"
import type { Address } from "../../spec/target.ts"
import { type Container, ignore } from "../../src/services/contained.ts"
import { containerOf, Defects } from "../../src/services/defects.ts"
import { Names } from "../../src/services/names.ts"
import { containedLaterIfAlive } from "../../src/services/timer.ts"
import type { Stream, Streams, UpstreamError, UpstreamOptions } from "../../src/services/upstreams.ts"
import { type Dialler, dialTo, type Standing } from "../http/client/dial.ts"
import type { ConnectionSettings } from "../http/connection-settings.ts"
import { settling } from "../http/settling.ts"
import { callError } from "../http/upstream-errors.ts"

/** One that stands. What goes wrong on it before somebody has taken it shows when it is used. */
class Stands implements Stream, Standing {
  readonly socket: Socket
  readonly address: string
  readonly #container: Container

  constructor(socket: Socket, address: string, container: Container) {
    this.socket = socket
    this.address = address
    this.#container = container
    socket.on("error", ignore)
  }

  destroy(): void {
    this.socket.destroy()
  }

  contain(cause: unknown): void {
    this.socket.destroy()
    this.#container.contain(cause)
  }
}

/** The socket of one that was made here, as all are. */
export const socketOf = (stream: Stream): Socket => {
  if (stream instanceof Stands) return stream.socket
  throw new Error("a connection of bytes that was made elsewhere")
}

/** What a connection of bytes is made with: no protocol is offered unless somebody says which, and nobody is asked in absolute form. */
const forBytes = ({ tls, tunnel, ...settings }: ConnectionSettings): ConnectionSettings => ({
  ...settings,
  tls: tls && { ...tls, alpn: tls.alpn ?? [] },
  tunnel: tunnel && { ...tunnel, mode: "connect" }
})

export const openStreams: Effect.Effect<
  (target: Address, options: UpstreamOptions) => Effect.Effect<Streams, never, Scope.Scope>,
  never,
  Names
> = Effect.gen(function* () {
  const container = containerOf(yield* Defects, "backend")
  const clock = yield* Clock.Clock
  const names = yield* Names
  const later = containedLaterIfAlive(container)
  const wall = () => clock.currentTimeMillisUnsafe()
  return (target, options) =>
    Effect.gen(function* () {
      let dialler: Dialler | undefined
      const diallerOf = (settings: ConnectionSettings) => dialTo(target, forBytes(settings), later, wall, names)
      // Sessions of TLS go with whom they were made as.
      const settled = yield* settling(target, options, (settings) => {
        dialler = diallerOf(settings)
      })
      dialler = diallerOf(settled())
      const idleTimeout = options.bodyIdleTimeout
      const connect = Effect.callback<Stream, UpstreamError>((resume) => {
        const { connectTimeout } = settled()
        const giveUp = dialler!.dialSocket<Stands>(
          container,
          "bytes",
          (socket, address) => new Stands(socket, address, container),
          (made) =>
            resume(
              made instanceof Error
                ? Effect.fail(callError(made, connectTimeout, "nothing sent"))
                : Effect.succeed(made)
            )
        )
        return Effect.sync(giveUp)
      })
      return { connect, idleTimeout }
    })
})
