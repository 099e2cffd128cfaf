/** The call of a backend for a CONNECT request: a connection of bytes, and both of its directions as bodies. */
import { Effect, Exit, Fiber } from "effect"
import { HeaderList } from "../../src/http/header-list.ts"
import type { Answer } from "../../src/http/message.ts"
import { contained } from "../../src/services/contained.ts"
import { containerOf, Defects } from "../../src/services/defects.ts"
import { Timer } from "../../src/services/timer.ts"
import type { Stream, Streams, UpstreamError, UpstreamRequest } from "../../src/services/upstreams.ts"
import { socketOf } from "../tcp/streams.ts"
import { IdleWatch } from "./idle-watch.ts"
import { pour } from "./pour.ts"
import { Tunnel } from "./tunnel.ts"

/** @param open what connects; it is asked anew for each call, and holds nothing behind it. */
export type ConnectCall = <E>(
  open: Effect.Effect<Streams>,
  request: UpstreamRequest<E>
) => Effect.Effect<Answer, UpstreamError | E>

export const makeConnectCall: Effect.Effect<ConnectCall> = Effect.map(Defects, (tell) => {
  const container = containerOf(tell, "backend")
  return <E>(open: Effect.Effect<Streams>, { timeout }: UpstreamRequest<E>) => {
    const connecting = Effect.flatMap(open, ({ connect, idleTimeout }) =>
      Effect.map(connect, (stream) => [stream, idleTimeout] as const)
    )
    // What holds a call up is asked for when there is one.
    return Effect.withFiber<Answer, UpstreamError | E>((parent) => {
      const later = parent.getRef(Timer)
      const answered = ([stream, idleTimeout]: readonly [Stream, number | undefined]): Answer => {
        const socket = socketOf(stream)
        const source = new Tunnel(socket, Buffer.alloc(0), "backend", container)
        const received = contained(source, (bytes: Buffer) => source.received(bytes))
        const ended = contained(source, () => source.ended())
        const closed = contained(source, () => source.closed())
        socket.on("data", received).on("end", ended).on("close", closed)
        const idle =
          idleTimeout === undefined
            ? undefined
            : new IdleWatch(
                { milliseconds: idleTimeout, passed: () => {} },
                () => {},
                later,
                () => performance.now()
              )
        return {
          status: 200,
          headers: new HeaderList(),
          body: idle === undefined ? source : idle.watched(source, "backend"),
          switched: {
            protocol: "",
            outbound: (client) => pour(idle === undefined ? client : idle.watched(client, "client"), socket, source)
          }
        }
      }
      if (timeout === undefined) return Effect.map(connecting, answered)
      return Effect.callback<Answer, UpstreamError | E>((resume) => {
        const fiber = Effect.runForkWith(parent.context)(connecting)
        let over = false
        const late = contained(container, () => {
          over = true
          fiber.interruptUnsafe()
          resume(Effect.fail(timeout.failure("nothing sent")))
        })
        const callOff = later(timeout.milliseconds, late)
        const settled = contained(
          container,
          (exit: Exit.Exit<readonly [Stream, number | undefined], UpstreamError>) => {
            callOff()
            if (over) {
              // It came too late: nobody takes it.
              if (Exit.isSuccess(exit)) socketOf(exit.value[0]).destroy()
            } else resume(Exit.map(exit, answered))
          }
        )
        fiber.addObserver(settled)
        return Effect.suspend(() => {
          callOff()
          return Fiber.interrupt(fiber)
        })
      })
    })
  }
})
