/**
 * What carries a call to a backend and its answer back: a connection that serves one call at a time, or one stream among others.
 * And where a call finds one.
 */
import type { Socket } from "node:net"
import type { BodySource } from "../../../src/http/body.ts"
import type { HeaderList } from "../../../src/http/header-list.ts"
import type { Tunnel } from "../tunnel.ts"
import type { ResponseHead } from "./response-parser.ts"
import type { Declared } from "./upload.ts"

/** What a call sends, and how it is told of what comes back. None of these may throw. */
export interface Caller {
  /** For HTTP/1.1: the lines of the head, each character a byte. */
  readonly head: string
  /** For HTTP/2: its fields. */
  readonly fields: ReadonlyArray<string>
  readonly body: undefined | string | Uint8Array | BodySource
  /** Of a source. */
  readonly declared: Declared
  readonly bodiless: boolean
  readonly upgrading: boolean
  readonly onInterim: (head: ResponseHead) => void
  readonly onHead: (head: ResponseHead) => void
  readonly onBody: (bytes: Buffer) => void
  readonly onEnd: (trailers: HeaderList | undefined) => void
  /** All that came in one piece was told. */
  readonly onPiece: () => void
  /** The connection has left HTTP. */
  readonly onSwitch: (head: ResponseHead, tunnel: Tunnel, socket: Socket) => void
  /** Nothing follows. @param begun some of the response had come. @param unsent nothing of the request had left. */
  readonly onFailure: (error: Error, begun: boolean, unsent: boolean) => void
  /** Something of the proxy itself went wrong. */
  readonly contain: (cause: unknown) => void
}

export interface Carrier {
  /** Whether its connection has served a call, or has been idle: its peer may have closed it just now. */
  readonly used: boolean
  readonly send: (caller: Caller) => void
  /** Nobody waits for the response, or the rest of it. */
  readonly abandon: (caller: Caller) => void
  /** Reads no more for now. */
  readonly pause: (caller: Caller) => void
  readonly resume: (caller: Caller) => void
}

/** Who waits for a carrier. */
export interface Waiter {
  /** It must not have served before: another one broke under this call, or it is to leave HTTP. */
  readonly fresh: boolean
  /** It may be sent again when its connection turns out to be closed. */
  readonly repeatable: boolean
  readonly connected: (carrier: Carrier) => void
  readonly refused: (error: Error) => void
}

/** Where carriers are found. */
export interface Carriers {
  /** Finds one, at once when one is there. */
  readonly acquire: (waiter: Waiter) => void
  /** Whoever waits no longer. */
  readonly forget: (waiter: Waiter) => void
}
