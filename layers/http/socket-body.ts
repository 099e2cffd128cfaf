/** The two directions of a connection that has left HTTP, as a source of bytes and as a place to put them. */
import type { Duplex } from "node:stream"
import { BodyAborted, type BodySink, type BodySource } from "../../src/http/body.ts"

/** What a socket receives. It ends when the peer stops sending; the other direction stays open. */
export class SocketBody implements BodySource {
  readonly #socket: Duplex
  readonly #side: "client" | "backend"
  #head: Uint8Array
  #over = false

  /** @param head bytes that were read already. */
  constructor(socket: Duplex, head: Uint8Array, side: "client" | "backend") {
    this.#socket = socket
    this.#head = head
    this.#side = side
    // An error without a listener would end the process; `close` follows it and says the same.
    socket.on("error", ignore)
  }

  start(sink: BodySink): void {
    const socket = this.#socket
    socket.on("data", (chunk: Uint8Array) => {
      if (!sink.data(chunk)) socket.pause()
    })
    socket.on("end", () => {
      if (this.#over) return
      this.#over = true
      sink.end()
    })
    socket.on("close", () => {
      if (this.#over) return
      this.#over = true
      sink.fail(new BodyAborted({ source: this.#side, detail: "reset" }))
    })
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
    const socket = this.#socket
    // What was written in the other direction still has to leave.
    if (socket.writableLength === 0) socket.destroy()
    else socket.end(() => socket.destroy())
  }
}

const nothing = new Uint8Array(0)
const ignore = () => {}

/**
 * Sends everything that a source yields to a socket, at the pace of its reader, then closes this direction.
 * @param over told once how it ended: `undefined` when all of it was sent.
 */
export const pour = (
  source: BodySource,
  socket: Duplex,
  over: (failure: string | undefined) => void = ignore
): void => {
  let open = true
  const conclude = (failure: string | undefined) => {
    if (!open) return
    open = false
    socket.off("drain", drained).off("close", closed)
    over(failure)
  }
  const drained = () => source.resume()
  const closed = () => {
    if (!open) return
    conclude("the receiver went away")
    source.cancel()
  }
  socket.on("drain", drained).on("close", closed)
  source.start({
    data: (chunk) => open && socket.write(chunk),
    end: () => {
      if (open) socket.end(() => conclude(undefined))
    },
    fail: (error) => {
      conclude(error.message)
      socket.destroy()
    }
  })
}
