/** What a connection, or a stream of HTTP/2, receives after it has left HTTP. It ends when the peer stops sending; the other direction stays open. */
import type { Duplex } from "node:stream"
import { BodyAborted, type BodySink, type BodySource } from "../../src/http/body.ts"
import type { Container } from "../../src/services/contained.ts"
import { letGo } from "./pour.ts"

export class Tunnel implements BodySource, Container {
  readonly #socket: Duplex
  readonly #side: "client" | "backend"
  readonly #container: Container
  #sink: BodySink | undefined = undefined
  /** What came before somebody read. */
  #early: Array<Buffer>
  #ending: "whole" | "cut" | undefined = undefined
  #over = false

  /** @param first bytes that came behind the head. @param container told of what whoever reads it throws. */
  constructor(socket: Duplex, first: Buffer, side: "client" | "backend", container: Container) {
    this.#socket = socket
    this.#side = side
    this.#container = container
    this.#early = first.length === 0 ? [] : [first]
    socket.pause()
  }

  start(sink: BodySink): void {
    this.#sink = sink
    this.resume()
  }

  resume(): void {
    const sink = this.#sink
    if (sink === undefined || this.#over) return
    while (this.#early.length > 0) if (!sink.data(this.#early.shift()!)) return
    if (this.#ending === undefined) this.#socket.resume()
    else this.#conclude(this.#ending)
  }

  cancel(): void {
    if (this.#over) return
    this.#over = true
    letGo(this.#socket)
  }

  contain(cause: unknown): void {
    this.#container.contain(cause)
  }

  // What the connection tells.

  received(bytes: Buffer): void {
    if (this.#over) return
    if (this.#sink === undefined || this.#early.length > 0) {
      this.#early.push(bytes)
      this.#socket.pause()
    } else if (!this.#sink.data(bytes)) this.#socket.pause()
  }

  ended(): void {
    this.#conclude("whole")
  }

  closed(): void {
    this.#conclude("cut")
  }

  #conclude(ending: "whole" | "cut"): void {
    if (this.#over) return
    if (this.#sink === undefined || this.#early.length > 0) {
      this.#ending ??= ending
      return
    }
    this.#over = true
    if (ending === "whole") this.#sink.end()
    else this.#sink.fail(new BodyAborted({ source: this.#side, detail: "reset" }))
  }
}
