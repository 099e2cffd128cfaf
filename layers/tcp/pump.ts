/**
 * Moves bytes between two connections, in both directions, until both have ended. The end of one direction is passed on, and the
 * other one goes on; a reset is passed on as a reset. What one side does not take is not read of the other, so that nothing piles up.
 */
import type { Socket } from "node:net"
import { type Container, contained } from "../../src/services/contained.ts"
import { reset } from "../http/refusal.ts"
import { passOn } from "./passed-on.ts"

/** Which of the two has broken its connection off, and by which error of the system. */
export interface Broken {
  readonly by: "client" | "backend"
  readonly code: string | undefined
}

export class Pump implements Container {
  /** Bytes of the client. */
  received = 0
  /** Bytes that it is sent. */
  sent = 0
  readonly #client: Socket
  readonly #backend: Socket
  readonly #defect: (cause: unknown) => void
  readonly #over: (broken: Broken | undefined) => void
  #open = 2
  #broken: Broken | undefined = undefined

  /**
   * @param over told once, when both are closed, unless somebody has ended them from outside.
   * @param defect told of what went wrong in the proxy itself.
   */
  constructor(
    client: Socket,
    backend: Socket,
    over: (broken: Broken | undefined) => void,
    defect: (cause: unknown) => void
  ) {
    this.#client = client
    this.#backend = backend
    this.#over = over
    this.#defect = defect
  }

  begin(): void {
    this.#connect(this.#client, "client", this.#backend)
    this.#connect(this.#backend, "backend", this.#client)
  }

  #connect(socket: Socket, by: Broken["by"], other: Socket): void {
    let code: string | undefined
    const isClient = by === "client"
    const count = (length: number) => {
      if (isClient) this.received += length
      else this.sent += length
    }
    // What was read before, and all of it where memory of one's own cannot be read into.
    const read = contained(this, (bytes: Buffer) => {
      count(bytes.length)
      if (!other.write(bytes)) socket.pause()
    })
    const ended = contained(this, () => other.end())
    const drained = contained(this, () => other.resume())
    const failed = contained(this, (error: NodeJS.ErrnoException) => {
      code = error.code
    })
    const closed = contained(this, () => {
      // Whoever has not said all, or not taken all, was broken off.
      if (code !== undefined || !socket.readableEnded || !socket.writableFinished) this.#break(other, { by, code })
      if (--this.#open === 0) this.#over(this.#broken)
    })
    socket.on("data", read).on("end", ended).on("drain", drained).on("error", failed)
    if (socket.closed) process.nextTick(closed)
    else socket.on("close", closed)
    passOn(this, socket, other, count)
    // It has ended while the other one was being connected, or in a tunnel before there was anybody to tell.
    if (socket.readableEnded) process.nextTick(ended)
    socket.resume()
  }

  #break(other: Socket, broken: Broken): void {
    if (this.#broken !== undefined) return
    this.#broken = broken
    reset(other)
  }

  /** Whether bytes move is seen by this number. */
  get moved(): number {
    return this.received + this.sent - this.#client.writableLength - this.#backend.writableLength
  }

  /** Whose turn it is to take what was sent, or else to send. */
  get silent(): Broken["by"] {
    return this.#client.writableLength > 0 ? "client" : "backend"
  }

  /** Ends both at once, so that neither takes what has come for the whole. */
  cut(): void {
    reset(this.#client)
    reset(this.#backend)
  }

  contain(cause: unknown): void {
    this.cut()
    this.#defect(cause)
  }
}
