/**
 * One connection to a backend, that serves one call at a time: what it writes of the request, and what it reads of the
 * response. Whatever does not belong to the call that it serves, late bytes of an earlier one for example, ends it.
 */
import type { Socket } from "node:net"
import { type BodyAborted, isSource } from "../../../src/http/body.ts"
import { type Container, contained, containing } from "../../../src/services/contained.ts"
import type { Later } from "../../../src/services/timer.ts"
import { Tunnel } from "../tunnel.ts"
import { atEndOfTurn, type Departing } from "../turn.ts"
import type { Caller, Carrier } from "./carrier.ts"
import { ConnectionClosed } from "./failures.ts"
import { type ResponseHead, ResponseParser } from "./response-parser.ts"
import { Upload, type Uploading } from "./upload.ts"

/** Where a connection belongs. */
export interface Home {
  /** It may serve another call. */
  readonly release: (connection: Connection) => void
  /** It is of no use any more. Told once. */
  readonly lost: (connection: Connection) => void
  readonly later: Later
  /** Told of what went wrong where there is no call. */
  readonly defect: (cause: unknown) => void
}

/** What is read of a response that nobody wants, so that its connection can serve another call: bytes, and milliseconds. */
const drainedBytes = 65_536
const drainedTime = 50

/** Up to this size a body is copied behind its head, which costs less than a second buffer in the same write. */
const singleWrite = 16_384

export class Connection implements Carrier, Container, Departing, Uploading {
  readonly #home: Home
  readonly #socket: Socket
  readonly #parser = new ResponseParser()
  #caller: Caller | undefined = undefined
  /** A request that leaves at the end of the turn. */
  #outgoing = ""
  #upload: Upload | undefined = undefined
  #tunnel: Tunnel | undefined = undefined
  /** Ends the time in which the rest of a response that nobody wants may come. */
  #stopDraining: (() => void) | undefined = undefined
  /** How much of it may still come. */
  #drainable = 0
  #paused = false
  #error: Error | undefined = undefined
  #lost = false
  /** Whether it has served a call. */
  served = false
  /** Whether it has served a call, or has been idle. */
  used = false
  /** When it is not kept idle any longer, of the clock of its home. */
  expires = 0
  /** Since when it is idle. */
  rests = 0
  /** When it takes no more calls. */
  retires = Number.POSITIVE_INFINITY
  readonly address: string

  /** @param address of the backend. */
  constructor(home: Home, socket: Socket, address: string) {
    this.#home = home
    this.#socket = socket
    this.address = address
    const ended = contained(this, () => this.#ended())
    const drained = contained(this, () => this.#upload?.drained())
    const failed = contained(this, (error: Error) => {
      this.#error = error
    })
    const closed = contained(this, () => this.#closed())
    socket.on("end", ended).on("drain", drained).on("error", failed).on("close", closed)
  }

  /** Seconds after which the peer closes an idle connection, if it says so. */
  get keepAlive(): number | undefined {
    return this.#parser.keepAlive
  }

  /** Sends a request. */
  send(caller: Caller): void {
    this.#caller = caller
    this.#parser.begin(caller.bodiless, caller.upgrading)
    const { head, body } = caller
    const socket = this.#socket
    if (body === undefined) this.#departWith(head)
    else if (isSource(body)) {
      // Head and first chunk leave together when the chunk is there already.
      socket.cork()
      socket.write(head, "latin1")
      const upload = new Upload(this, socket, body, caller.declared)
      this.#upload = upload
      process.nextTick(uncork, this)
      try {
        upload.begin()
      } catch (cause) {
        // Here, and not further up: there the connection may be serving the end of an earlier call.
        this.contain(cause)
      }
    } else if (typeof body === "string") this.#departWith(head + body)
    else if (body.length <= singleWrite) this.#departWith(head + latin1(body))
    else {
      socket.cork()
      socket.write(head, "latin1")
      socket.write(body)
      socket.uncork()
    }
  }

  uncork(): void {
    this.#socket.uncork()
  }

  #departWith(text: string): void {
    this.#outgoing = text
    atEndOfTurn(this)
  }

  depart(): void {
    const text = this.#outgoing
    this.#outgoing = ""
    // Its caller may have gone, or its peer.
    if (text !== "" && this.#caller !== undefined) this.#socket.write(text, "latin1")
  }

  /** The first `length` bytes have come; they are not kept. */
  received(bytes: Buffer, length: number): void {
    try {
      if (this.#tunnel !== undefined) this.#tunnel.received(Buffer.from(bytes.subarray(0, length)))
      else this.#read(bytes, length)
    } catch (cause) {
      this.contain(cause)
    }
  }

  #read(bytes: Buffer, length: number): void {
    const caller = this.#caller
    const parser = this.#parser
    if (caller === undefined) {
      if (this.#stopDraining === undefined) this.destroy()
      else this.#drain(parser.feed(bytes, length), length)
      return
    }
    if (this.#outgoing !== "") {
      // No answer to what has not left: its peer has given the connection up.
      this.#fail(caller, new ConnectionClosed())
      return
    }
    const fault = parser.feed(bytes, length)
    const { interim, head, body } = parser
    if (interim !== undefined) for (const one of interim) caller.onInterim(one)
    if (head !== undefined && this.#caller === caller) {
      if (head.status === 101) {
        this.#switch(caller, head, bytes, length)
        return
      }
      caller.onHead(head)
    }
    if (body !== undefined) caller.onBody(body)
    if (this.#caller !== caller) {
      if (this.#stopDraining !== undefined) this.#drain(fault, length)
      return
    }
    if (fault !== undefined) {
      this.#fail(caller, fault)
      caller.onPiece()
      return
    }
    if (parser.ended) this.#complete(caller, parser.persistent && parser.consumed === length)
    caller.onPiece()
  }

  /** The system has taken all of the request. */
  get #sent(): boolean {
    return this.#upload?.over !== false && this.#outgoing === "" && this.#socket.writableLength === 0
  }

  /** @param reusable nothing of the response speaks against another call. */
  #complete(caller: Caller, reusable: boolean): void {
    const { trailers } = this.#parser
    const upload = this.#upload
    const sent = this.#sent
    this.#caller = undefined
    this.#upload = undefined
    this.used = true
    this.served = true
    if (reusable && sent && !caller.upgrading && !this.#lost) {
      if (this.#paused) this.#resume()
      this.#home.release(this)
    } else {
      upload?.stop()
      this.destroy()
    }
    caller.onEnd(trailers)
  }

  #fail(caller: Caller, error: Error): void {
    const begun = this.#parser.started
    const unsent = this.#outgoing !== ""
    const upload = this.#upload
    this.#caller = undefined
    this.#upload = undefined
    upload?.stop()
    this.destroy()
    caller.onFailure(error, begun, unsent)
  }

  #switch(caller: Caller, head: ResponseHead, bytes: Buffer, length: number): void {
    const rest = bytes.subarray(this.#parser.consumed, length)
    const tunnel = new Tunnel(this.#socket, Buffer.from(rest), "backend", this)
    this.#tunnel = tunnel
    this.#caller = undefined
    // It counts as a connection for calls no longer.
    this.#leave()
    caller.onSwitch(head, tunnel, this.#socket)
  }

  #ended(): void {
    if (this.#tunnel !== undefined) {
      this.#tunnel.ended()
      return
    }
    const caller = this.#caller
    if (caller === undefined) this.destroy()
    else if (this.#parser.finish()) {
      this.#complete(caller, false)
      caller.onPiece()
    } else this.#fail(caller, this.#error ?? new ConnectionClosed())
  }

  #closed(): void {
    this.#leave()
    if (this.#tunnel !== undefined) this.#tunnel.closed()
    else if (this.#caller !== undefined) this.#fail(this.#caller, this.#error ?? new ConnectionClosed())
  }

  #leave(): void {
    if (this.#lost) return
    this.#lost = true
    this.#home.lost(this)
  }

  destroy(): void {
    this.#stopDraining?.()
    this.#socket.destroy()
    this.#leave()
  }

  /** Nobody waits for the response, or the rest of it: if that is short and comes soon, the connection can go on. */
  abandon(caller: Caller): void {
    if (this.#caller !== caller) return
    const upload = this.#upload
    const sent = this.#sent
    this.#caller = undefined
    this.#upload = undefined
    upload?.stop()
    if (!sent || caller.upgrading || this.#lost || !this.#parser.mayFollowWithin(drainedBytes)) {
      this.destroy()
      return
    }
    this.#drainable = drainedBytes
    this.#stopDraining = this.#home.later(drainedTime, () => this.destroy())
    if (this.#paused) this.#resume()
  }

  /** Some more has come of a response that nobody wants, or the piece in which it was given up. */
  #drain(fault: Error | undefined, length: number): void {
    const parser = this.#parser
    this.#drainable -= length
    if (fault !== undefined || this.#drainable < 0 || (parser.ended && parser.consumed < length)) this.destroy()
    else if (parser.ended) {
      this.#stopDraining?.()
      this.#stopDraining = undefined
      this.used = true
      this.served = true
      this.#home.release(this)
    }
  }

  /** Reads no more for now. */
  pause(caller: Caller): void {
    if (this.#caller !== caller || this.#paused) return
    this.#paused = true
    this.#socket.pause()
  }

  resume(caller: Caller): void {
    if (this.#caller === caller && this.#paused) this.#resume()
  }

  #resume(): void {
    this.#paused = false
    this.#socket.resume()
  }

  /** While it is idle it keeps no process alive. */
  rest(): void {
    this.#socket.unref()
  }

  wake(): void {
    this.#socket.ref()
  }

  // What the upload tells.

  uploadFailed(error: BodyAborted | Error): void {
    const caller = this.#caller
    this.#upload = undefined
    if (caller === undefined) this.destroy()
    else this.#fail(caller, error)
  }

  contain(cause: unknown): void {
    const caller = this.#caller
    this.#caller = undefined
    this.#upload?.stop()
    this.#upload = undefined
    this.destroy()
    if (caller === undefined) this.#home.defect(cause)
    else caller.contain(cause)
  }
}

const uncork = containing((connection: Connection) => connection.uncork())

const latin1 = (bytes: Uint8Array): string =>
  (Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)).toString("latin1")
