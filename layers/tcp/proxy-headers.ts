/** Connections of which the header of a balancer is awaited, before anything else of them is read: within a time, and within its bytes. */
import type { Socket } from "node:net"
import type { ProxyProtocolOptions } from "../../src/pipeline/listener-policy.ts"
import { type Container, contained, containing, ignore } from "../../src/services/contained.ts"
import { type Origin, type ProxyHeader, readProxyHeader } from "./proxy-header.ts"

/** Milliseconds within which the header must be there. */
const longestWait = 5_000

export interface ProxyHeaderOptions {
  /** It is known who the client is, if the header says so: bytes behind the header are next. */
  readonly known: (socket: Socket, origin: Origin | undefined) => void
  /** There is no header that would do: the connection is closed without a byte. Not told of clients that leave by themselves. */
  readonly failed: (socket: Socket, detail: string) => void
  /** A callback threw. */
  readonly defect: (cause: unknown) => void
}

export class ProxyHeaders implements Container {
  readonly #options: ProxyHeaderOptions
  readonly #awaited = new Set<Awaited>()

  constructor(options: ProxyHeaderOptions) {
    this.#options = options
  }

  contain(cause: unknown): void {
    this.#options.defect(cause)
  }

  /** Ends those whose header has not come. */
  cut(): void {
    for (const { socket } of this.#awaited) socket.destroy()
  }

  /** A connection that nothing was read of. */
  accept(socket: Socket, wanted: ProxyProtocolOptions): void {
    const awaited = new Awaited(socket, wanted, this.#options, () => this.#awaited.delete(awaited))
    this.#awaited.add(awaited)
    awaited.begin()
  }
}

class Awaited implements Container {
  readonly socket: Socket
  readonly #wanted: ProxyProtocolOptions
  readonly #options: ProxyHeaderOptions
  readonly #over: () => void
  #bytes: Buffer | undefined = undefined
  #timer: NodeJS.Timeout | undefined = undefined
  #stop: () => void = ignore

  constructor(socket: Socket, wanted: ProxyProtocolOptions, options: ProxyHeaderOptions, over: () => void) {
    this.socket = socket
    this.#wanted = wanted
    this.#options = options
    this.#over = over
  }

  begin(): void {
    const { socket } = this
    const late = contained(this, () => this.#late())
    const readable = contained(this, () => this.#read())
    const ended = contained(this, () => socket.destroy())
    const closed = contained(this, () => this.#stop())
    this.#timer = setTimeout(late, longestWait).unref()
    this.#stop = () => {
      this.#stop = ignore
      clearTimeout(this.#timer)
      socket.off("readable", readable).off("end", ended).off("close", closed)
      this.#over()
    }
    socket.on("readable", readable).on("end", ended).on("close", closed).on("error", ignore)
  }

  contain(cause: unknown): void {
    this.socket.destroy()
    this.#options.defect(cause)
  }

  #read(): void {
    const chunk: unknown = this.socket.read()
    if (!Buffer.isBuffer(chunk)) return
    this.#bytes = this.#bytes === undefined ? chunk : Buffer.concat([this.#bytes, chunk])
    const header = readProxyHeader(this.#bytes)
    if (header._tag === "Unfinished") return
    const fault = this.#faultOf(header)
    if (fault !== undefined) this.#fail(fault)
    else if (header._tag === "Header") this.#known(header.origin, this.#bytes.subarray(header.length))
    else this.#known(undefined, this.#bytes)
  }

  #faultOf(header: ProxyHeader): string | undefined {
    const { versions, required } = this.#wanted
    if (header._tag === "Header")
      return versions.includes(header.version) ? undefined : `version ${header.version} is not accepted`
    if (header._tag === "Malformed") return "the header is malformed"
    return required ? "there is no header" : undefined
  }

  /** Who says nothing at all may wait to be told something, where no header is required. */
  #late(): void {
    if (this.#bytes === undefined && !this.#wanted.required) this.#known(undefined, undefined)
    else this.#fail("the header did not come in time")
  }

  #fail(detail: string): void {
    this.#stop()
    this.#options.failed(this.socket, detail)
    this.socket.destroy()
  }

  #known(origin: Origin | undefined, rest: Buffer | undefined): void {
    this.#stop()
    if (rest !== undefined && rest.length > 0) this.socket.unshift(rest)
    // A turn later the socket is one again that nobody has read from.
    setImmediate(handOver, this, origin)
  }

  handOver(origin: Origin | undefined): void {
    if (!this.socket.destroyed) this.#options.known(this.socket, origin)
  }
}

const handOver = containing((awaited: Awaited, origin: Origin | undefined) => awaited.handOver(origin))
