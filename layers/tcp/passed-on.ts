/**
 * Memory for bytes on their way from one socket to another. The runtime makes 64 KiB outside of the heap for each read, and marks
 * the whole heap whenever some tens of MiB have come together; here reads go into memory that is used again, once the system has
 * taken what was in it. A connection that is silent holds none: what comes first lands where all others read as well.
 */
import type { Socket } from "node:net"
import { TLSSocket } from "node:tls"
import { type Container, contained } from "../../src/services/contained.ts"
import { readInto } from "../http/shared-reads.ts"

const size = 65_536

/** Where connections read of which nothing is known to be on its way. What is read is copied before the next read. */
const landing: Buffer = Buffer.allocUnsafeSlow(size)

/** Memory that nobody uses: as much as is kept. */
const spare: Array<Buffer> = []
const mostSpare = 16

/** One direction of a connection. */
class Direction {
  readonly #from: Socket
  readonly #to: Socket
  readonly #count: (length: number) => void
  /** Where the next read goes. */
  #next: Buffer = landing
  /** Of a write that the system has not taken whole; nothing is read meanwhile. */
  #underWay: Buffer | undefined = undefined
  readonly #written: () => void

  constructor(container: Container, from: Socket, to: Socket, count: (length: number) => void) {
    this.#from = from
    this.#to = to
    this.#count = count
    this.#written = contained(container, () => this.#goOn())
  }

  get next(): Buffer {
    return this.#next
  }

  pass(length: number): void {
    let memory = this.#next
    if (memory === landing) {
      memory = spare.pop() ?? Buffer.allocUnsafeSlow(size)
      landing.copy(memory, 0, 0, length)
    }
    // A read that fills its memory is followed by another one at once, which goes there without landing before.
    this.#next = length === size ? memory : landing
    this.#count(length)
    this.#to.write(length === size ? memory : memory.subarray(0, length), this.#written)
    if (this.#to.writableLength === 0) this.#free(memory)
    else {
      this.#underWay = memory
      this.#from.pause()
    }
  }

  /** A write is over. Those that were over at once are told of as well, so it may not be the one that is waited for. */
  #goOn(): void {
    const memory = this.#underWay
    if (memory === undefined || this.#to.writableLength > 0) return
    this.#underWay = undefined
    this.#free(memory)
    this.#from.resume()
  }

  #free(memory: Buffer): void {
    if (memory !== this.#next && spare.length < mostSpare) spare.push(memory)
  }
}

/**
 * From here on, what `from` reads is written to `to`, and reading waits while that does not take it; what `from` has read before
 * goes to those that listen for it. Nobody else may write to `to` meanwhile.
 * @param count told how much was read.
 * @returns whether it is so. It is not with TLS on either side, since that reads and writes memory of its own.
 */
export const passOn = (container: Container, from: Socket, to: Socket, count: (length: number) => void): boolean => {
  if (from instanceof TLSSocket || to instanceof TLSSocket) return false
  const direction = new Direction(container, from, to, count)
  const received = contained(container, (length: number) => direction.pass(length))
  return readInto(from, landing, received, () => direction.next)
}
