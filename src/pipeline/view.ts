/** What a node sees of the exchange: the messages, the slots that its policy declared, and nothing else. */
import type { Effect } from "effect"
import type { StageMessage } from "../../spec/trace-events.ts"
import type { Bindings } from "../cel/bindings.ts"
import type { Body, BodyAborted, BodyObserver } from "../http/body.ts"
import type { HeaderList } from "../http/header-list.ts"
import type { Answer, RequestHead } from "../http/message.ts"
import type { BodyTooLarge, BuffersFull } from "./errors.ts"
import type { AnySlot, SlotValue } from "./stage.ts"
import type { Asking } from "./sub-calls.ts"

/** The socket addresses of the client. `raw` is the TCP peer, before any PROXY protocol header was read. */
export interface Peer {
  readonly address: string
  readonly port: number
  readonly rawAddress: string
  readonly rawPort: number
  /** The proxy's end of the connection; absent where that is no address of a network. */
  readonly destination?: { readonly address: string; readonly port: number } | undefined
  /** The port at which it came in over loopback, and whether nobody but this machine reaches the listener there. */
  readonly loopback?: { readonly port: number; readonly only: boolean } | undefined
  /** What its TLS handshake has said of it; absent without TLS. */
  readonly tls?: PeerTls | undefined
  /** The tunnel through which it came in; absent where there is none. */
  readonly tunnel?: TunnelWay | undefined
  /** Header fields of the CONNECT request that opened that tunnel, alternating names and values. */
  readonly connectHeaders?: ReadonlyArray<string> | undefined
}

/** A tunnel that ends in the proxy itself. */
export interface TunnelWay {
  /** Where its CONNECT request wanted to go, as `host:port`. */
  readonly to: string
  /** How many of them are in each other, this one counted. */
  readonly depth: number
}

/** What is known of a client by its TLS handshake. */
export interface PeerTls {
  /** The name that it asked for. */
  readonly serverName: string | undefined
  /** What its certificate says of it, if it has presented one that is trusted. */
  readonly clientCertificate: ClientCertificate | undefined
}

/** A verified client certificate, as expressions read it. */
export interface ClientCertificate {
  readonly subject: string | undefined
  readonly subjectCn: string | undefined
  readonly issuer: string | undefined
  readonly subjectAltNames: ReadonlyArray<string>
  readonly spiffeId: string | undefined
  readonly identity:
    | { readonly trustDomain: string; readonly namespace: string; readonly serviceAccount: string }
    | undefined
  /** PEM. */
  readonly certificate: string
}

/** How an exchange ended, told to those who asked with `onFinish`. */
export interface Outcome {
  /** The status that was sent; `undefined` when the client went away before there was one. */
  readonly status: number | undefined
  /** Why the response is not whole, if it is not. */
  readonly failure: string | undefined
  /** Bytes of the body that were sent. */
  readonly bytes: number
}

/** What reads one slot. */
export type Reading<S extends AnySlot> = Pick<View<S, never>, "get">

/** The connection of a client as a node of a policy sees it: alone, or as part of a request that came over it. */
export interface ConnectionView {
  readonly peer: Peer
  /** When it was made, or, of a request, when that arrived: milliseconds since 1970. */
  readonly now: number
  /** What expressions read: live, so it is always what is seen as it stands. */
  readonly variables: Bindings
  /** Adds a field to the log line, as `jwt.sub`. */
  fact(key: string, value: string | number | boolean): void
  /** Whether somebody wants what is noted: asked before it is gathered. */
  readonly watched: boolean
  /** A fact for whoever watches; does nothing when nobody does. */
  note(kind: string, details: unknown): void
  /** The same for what has an event of its own. */
  tell(message: StageMessage): void
}

/** The exchange as a node of a policy sees it: it reads and writes the slots that its policy declares, and no others. */
export interface View<Reads extends AnySlot, Writes extends AnySlot> extends ConnectionView {
  readonly request: RequestHead
  /** The request body. Assigning replaces it; whoever does so also mends `content-length`. */
  requestBody: Body
  /** In the response phases: the answer on its way to the client. */
  response: Answer | undefined
  /** The protocol that the client asks to upgrade to, as `websocket`. */
  readonly upgrade: string | undefined
  /** Headers for whatever answer leaves in the end: the backend's, a stage's own, or a rendered error. They overwrite; `vary` adds. */
  readonly answerHeaders: HeaderList
  /** Which attempt at a backend it is part of, from 1; 1 before there is one. */
  readonly attempt: number
  /** What calls beside that of the backend (`SubCalls`) are made for. */
  readonly asking: Asking
  /** The prefix by which the route was matched, if it was a path prefix. */
  readonly matchedPrefix: string | undefined
  get<S extends Reads | Writes>(slot: S): SlotValue<S> | undefined
  set<S extends Writes>(slot: S, value: SlotValue<S>): void
  /** The most bytes of a body that are read where no policy says otherwise: the listener's limit. */
  readonly bodyLimit: number
  /** The whole request body in memory; it stays readable for those who come later. Default limit: the listener's. */
  readRequestBody(limit?: number): Effect.Effect<Uint8Array, BodyTooLarge | BodyAborted | BuffersFull>
  /** The beginning of the request body, up to the same limit, in memory; the body itself stays whole. */
  readRequestPrefix(limit?: number): Effect.Effect<Uint8Array, BodyAborted | BuffersFull>
  /** The whole body of the answer in memory. */
  readResponseBody(limit?: number): Effect.Effect<Uint8Array, BodyTooLarge | BodyAborted | BuffersFull>
  /** The beginning of it, up to the same limit, in memory; the body itself stays whole. */
  readResponsePrefix(limit?: number): Effect.Effect<Uint8Array, BodyAborted | BuffersFull>
  /** Shows a copy of the answer's body to `observer` as it passes. */
  observeResponseBody(observer: BodyObserver): void
  /** Runs when the exchange is over, however it ended. */
  onFinish(callback: (outcome: Outcome) => void): void
}
