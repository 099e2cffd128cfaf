/** The two directions of a connection that has left HTTP, as a source of bytes and as a place to put them. */
import type { Duplex } from "node:stream"
import { BodyAborted, type BodySink, type BodySource } from "../../src/http/body.ts"
import { type Container, contained, ignore } from "../../src/services/contained.ts"

/** What a socket receives. It ends when the peer stops sending; the other direction stays open. */
export class SocketBody implements BodySource {
  readonly #socket: Duplex
  readonly #side: "client" | "backend"
  readonly #container: Container
  #head: Uint8Array
  #over = false

  /**
   * @param head bytes that were read already.
   * @param container told of what whoever reads it throws.
   */
  constructor(socket: Duplex, head: Uint8Array, side: "client" | "backend", container: Container) {
    this.#container = container
    this.#socket = socket
    this.#head = head
    this.#side = side
    // An error without a listener would end the process; `close` follows it and says the same.
    socket.on("error", ignore)
  }

  start(sink: BodySink): void {
    const socket = this.#socket
    const received = contained(this.#container, (chunk: Uint8Array) => {
      if (!sink.data(chunk)) socket.pause()
    })
    const ended = contained(this.#container, () => {
      if (this.#over) return
      this.#over = true
      sink.end()
    })
    const closed = contained(this.#container, () => {
      if (this.#over) return
      this.#over = true
      sink.fail(new BodyAborted({ source: this.#side, detail: "reset" }))
    })
    socket.on("data", received).on("end", ended).on("close", closed)
    const head = this.#head
    this.#head = nothing
    if (head.length === 0 || sink.data(head)) socket.resume()
    else socket.pause()
    if (socket.destroyed) socket.emit("close")
  }

  resume(): void {
    this.#socket.resume()
  }

  cancel(): void {
    if (this.#over) return
    this.#over = true
    letGo(this.#socket)
  }
}

/** Nobody reads what comes any more; what was written in the other direction still has to leave. */
export const letGo = (socket: Duplex): void => {
  if (socket.writableLength === 0) socket.destroy()
  else socket.end(() => socket.destroy())
}

const nothing = new Uint8Array(0)

/**
 * Sends everything that a source yields to a socket, at the pace of its reader, then closes this direction.
 * @param container told of what the source throws.
 * @param over told once how it ended: `undefined` when all of it was sent.
 */
export const pour = (
  source: BodySource,
  socket: Duplex,
  container: Container,
  over: (failure: string | undefined) => void = ignore
): void => {
  let open = true
  const conclude = (failure: string | undefined) => {
    if (!open) return
    open = false
    socket.off("drain", drained).off("close", closed)
    over(failure)
  }
  const drained = contained(container, () => source.resume())
  const closed = contained(container, () => {
    if (!open) return
    conclude("the receiver went away")
    source.cancel()
  })
  socket.on("drain", drained).on("close", closed)
  source.start({
    data: (chunk) => open && socket.write(chunk),
    end: () => {
      if (open) socket.end(contained(container, () => conclude(undefined)))
    },
    fail: (error) => {
      conclude(error.message)
      socket.destroy()
    }
  })
}
