/**
 * The packets of one connection that hold the line of a request which is not complete yet: node's parser takes requests of
 * RTSP and ICE for those of HTTP, tells nobody, and shows only the packet that is being parsed.
 */
import type { IncomingMessage } from "node:http"
import type { Socket } from "node:net"

/** What is used of node's parser. */
interface Parser {
  readonly getCurrentBuffer: () => Buffer | undefined
  readonly constructor: { readonly kOnMessageBegin: number; readonly kOnExecute: number }
  [callback: number]: unknown
}

const parserOf = (socket: Socket): Parser | undefined => {
  const parser: unknown = Reflect.get(socket, "parser")
  return typeof parser === "object" && parser !== null && "getCurrentBuffer" in parser ? (parser as Parser) : undefined
}

export class Packets {
  readonly #parser: Parser | undefined
  /** The head of a request has begun, and has not ended. */
  #inHead = false
  /** From the packet in which the head began to the one that ends a line behind it. */
  #held: Array<Buffer> | undefined = undefined
  #lineHeld = false

  constructor(socket: Socket) {
    const parser = parserOf(socket)
    this.#parser = parser
    if (parser === undefined) return
    const { kOnMessageBegin, kOnExecute } = parser.constructor
    // Node calls it after each packet.
    const parsed = parser[kOnExecute]
    if (typeof parsed !== "function") return
    parser[kOnMessageBegin] = () => {
      this.#inHead = true
    }
    parser[kOnExecute] = (result: unknown) => {
      if (this.#inHead) this.#hold(parser.getCurrentBuffer())
      parsed(result)
    }
  }

  /** The head of this request is complete. Says whether the request is one of another protocol. */
  head(request: IncomingMessage): boolean {
    // Neither RTSP nor HTTP/1.0 is frequent, and looking at the bytes costs more than all of the framing. That the parser
    // takes RTSP/1.1, too, is left: there is no such version, so a line that claims it has no other meaning for anybody.
    const isForeign = (request.httpVersion === "1.0" || request.method === "SOURCE") && this.#names(request)
    this.#inHead = false
    if (this.#held !== undefined) this.#forget()
    return isForeign
  }

  #hold(packet: Buffer | undefined): void {
    if (packet === undefined || this.#lineHeld) return
    if (this.#held === undefined) this.#held = [packet]
    else {
      this.#held.push(packet)
      // In the first one it may be the end of an earlier line.
      this.#lineHeld = packet.includes("\n")
    }
  }

  #forget(): void {
    this.#held = undefined
    this.#lineHeld = false
  }

  /** Whether the line of the request, with the name of another protocol, is in what came. */
  #names({ method, url }: IncomingMessage): boolean {
    const packet = this.#parser?.getCurrentBuffer()
    if (packet === undefined) return false
    const bytes = this.#held === undefined ? packet : Buffer.concat([...this.#held, packet])
    return others.some((protocol) => bytes.includes(`${method} ${url} ${protocol}`, 0, "latin1"))
  }
}

const others = ["RTSP/", "ICE/"]
