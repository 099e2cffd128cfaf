/**
 * The packets of one connection, as far as they hold the line of a request: node's parser takes requests of RTSP and ICE
 * for those of HTTP, tells nobody, and shows only the packet that is being parsed.
 */
import type { IncomingMessage } from "node:http"
import type { Socket } from "node:net"

/** What is used of node's parser. */
interface Parser {
  readonly getCurrentBuffer: () => Buffer | undefined
  readonly incoming: IncomingMessage | null
  readonly constructor: { readonly kOnExecute: number }
  [callback: number]: unknown
}

const parserOf = (socket: Socket): Parser | undefined => {
  const parser: unknown = Reflect.get(socket, "parser")
  return typeof parser === "object" && parser !== null && "getCurrentBuffer" in parser ? (parser as Parser) : undefined
}

export class Packets {
  readonly #parser: Parser | undefined
  /** A head was completed in the packet that is being parsed: the line of the next one lies behind it. */
  #headed = false
  /** The packet that is being parsed began within a body: so does the line of its first head. */
  #inBody = false
  /** Nothing came before what is held. Otherwise it may begin within a head that began behind a request or a body. */
  #fromStart = true
  /** The packets since the last one that held a request or a body, until there is a whole line. */
  #held: Buffer | undefined = undefined

  constructor(socket: Socket) {
    const parser = parserOf(socket)
    this.#parser = parser
    if (parser === undefined) return
    // Node calls it after each packet.
    const callback = parser.constructor.kOnExecute
    const parsed = parser[callback]
    if (typeof parsed !== "function") return
    parser[callback] = (result: unknown) => {
      this.#parsed(parser)
      parsed(result)
    }
  }

  /** The head of this request is complete. Says whether the request is one of another protocol. */
  head(request: IncomingMessage): boolean {
    // Neither RTSP nor HTTP/1.0 is frequent, and looking at the bytes costs more than all of the framing. That the parser
    // takes RTSP/1.1, too, is left: there is no such version, so a line that claims it has no other meaning for anybody.
    const foreign = (request.httpVersion === "1.0" || request.method === "SOURCE") && this.#isForeign(request)
    this.#headed = true
    return foreign
  }

  #parsed(parser: Parser): void {
    const inBody = parser.incoming !== null && !parser.incoming.complete
    if (this.#headed || this.#inBody || inBody) {
      this.#fromStart = this.#headed = false
      this.#held = undefined
    } else this.#hold(parser.getCurrentBuffer())
    this.#inBody = inBody
  }

  #hold(packet: Buffer | undefined): void {
    if (packet === undefined || this.#held?.includes("\n") === true) return
    const held = this.#with(packet)
    this.#held = held.length === 0 ? undefined : held
  }

  /** What is held and this packet, without the empty lines that a client may send first. */
  #with(packet: Buffer): Buffer {
    const bytes = this.#held === undefined ? packet : Buffer.concat([this.#held, packet])
    if (!this.#fromStart) return bytes
    let from = 0
    while (bytes[from] === 13 || bytes[from] === 10) from++
    return bytes.subarray(from)
  }

  #isForeign({ method, url, rawHeaders }: IncomingMessage): boolean {
    const packet = this.#parser?.getCurrentBuffer()
    if (packet === undefined) return false
    const bytes = this.#with(packet)
    const line = `${method} ${url} `
    if (others.some((protocol) => bytes.includes(line + protocol, 0, "latin1"))) return true
    if (this.#headed || this.#inBody) return false
    const ours = `${line}HTTP/`
    if (bytes.toString("latin1", 0, ours.length) !== ours) return true
    // The line may have come before, behind another request, and what looks like it stand in a value: nowhere else could it.
    return !this.#fromStart && rawHeaders.some((value) => value.includes(ours))
  }
}

const others = ["RTSP/", "ICE/"]
