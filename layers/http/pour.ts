/** A socket that has left HTTP, as a place to put bytes. */
import type { Duplex } from "node:stream"
import type { BodySource } from "../../src/http/body.ts"
import { type Container, contained, ignore } from "../../src/services/contained.ts"

/** Nobody reads what comes any more; what was written in the other direction still has to leave. */
export const letGo = (socket: Duplex): void => {
  if (socket.writableLength === 0) socket.destroy()
  else socket.end(() => socket.destroy())
}

/** Why not everything was sent: why the source broke off, unless it was whoever received. */
export interface Unpoured {
  readonly cause: string | undefined
}

/**
 * Sends everything that a source yields to a socket, at the pace of its reader, then closes this direction.
 * @param container told of what the source throws.
 * @param over told once how it ended: `undefined` when all of it was sent.
 */
export const pour = (
  source: BodySource,
  socket: Duplex,
  container: Container,
  over: (failure: Unpoured | undefined) => void = ignore
): void => {
  let open = true
  const conclude = (failure: Unpoured | undefined) => {
    if (!open) return
    open = false
    socket.off("drain", drained).off("close", closed)
    over(failure)
  }
  const drained = contained(container, () => source.resume())
  const closed = contained(container, () => {
    if (!open) return
    conclude({ cause: undefined })
    source.cancel()
  })
  socket.on("drain", drained).on("close", closed)
  source.start({
    data: (chunk) => open && socket.write(chunk),
    end: () => {
      if (open) socket.end(contained(container, () => conclude(undefined)))
    },
    fail: (error) => {
      conclude({ cause: error.detail })
      socket.destroy()
    }
  })
}
