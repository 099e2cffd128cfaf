/**
 * The port between the MCP relay and its targets: one live connection that moves JSON-RPC messages as text. What a
 * message means (ids, sessions, federation) is the relay's business, how it travels is the adapter's.
 */
import type { Context } from "effect"

/** An HTTP answer of a target that is not a success. It is handed to the client as it came. */
export interface TargetStatus {
  readonly _tag: "TargetStatus"
  readonly status: number
  readonly message: string
  /** Flat raw list: name, value, name, value. */
  readonly headers: ReadonlyArray<string>
  readonly body: Uint8Array
}

/** The target could not be reached, or its connection broke before it answered. */
export interface TargetUnreachable {
  readonly _tag: "TargetUnreachable"
  readonly status: 503
  readonly message: string
}

/** The target kept silent for longer than it may. */
export interface TargetTimeout {
  readonly _tag: "TargetTimeout"
  readonly status: 504
  readonly message: string
}

/** The target's process did not start, or the target is not to be built. */
export interface TargetNotStarted {
  readonly _tag: "TargetNotStarted"
  readonly status: 500
  readonly message: string
}

/** A limit of the gateway (processes of a backend or principal, bytes in a queue) is reached. */
export interface TargetBusy {
  readonly _tag: "TargetBusy"
  readonly status: 503
  readonly message: string
}

/** The target broke the protocol or died: no HTTP status of its own exists. */
export interface TargetBroken {
  readonly _tag: "TargetBroken"
  readonly status: 500
  readonly message: string
}

/** Why a message to a target has no answer. */
export type TargetFailure =
  | TargetStatus
  | TargetUnreachable
  | TargetTimeout
  | TargetNotStarted
  | TargetBusy
  | TargetBroken

/** One message on its way to a target. */
export interface McpOutgoing {
  /** One JSON-RPC message without line breaks. */
  readonly message: string
  /** Names this sending in every event about it; never used twice on one transport. */
  readonly stream: number
  /** A request: an answer is due. Otherwise the sending ends when the target has taken the message. */
  readonly expectsAnswer: boolean
  /** The method; `undefined` for a response or error. */
  readonly method: string | undefined
  /** The client's headers and the relay's (flat raw list). An adapter without headers ignores them. */
  readonly headers: ReadonlyArray<string>
  /** What others are called with on behalf of this sending, if somebody watches it. */
  readonly context?: Context.Context<never> | undefined
}

/** Fields of the server-sent event that carried a message, for clients that resume. */
export interface McpEventMark {
  readonly id: string | undefined
  readonly retry: number | undefined
}

/**
 * What a transport reports. Events may arrive while `send` is still running. Nothing arrives for a stream after its
 * `onEnd`, and nothing at all after `onDeath` or `close`.
 */
export interface McpTransportEvents {
  /** `message` is the text of one event or line; `stream` is `undefined` on a shared channel. */
  readonly onMessage: (message: string, stream: number | undefined, mark: McpEventMark | undefined) => void
  /** The target took the request or the listening and its event stream is open; a session id is known by now. */
  readonly onOpen: (stream: number) => void
  /** The stream is over: in order, or with a failure. A stream may end while its answer is still due. */
  readonly onEnd: (stream: number, failure: TargetFailure | undefined) => void
  /** The connection as a whole is lost; everything that waits on it fails. */
  readonly onDeath: (failure: TargetFailure) => void
}

/** A live connection to one target, owned by one session (or by one request of a stateless backend). */
export interface McpTransport {
  /** All messages of the target arrive on one channel (child process, legacy SSE), not on a stream per request. */
  readonly shared: boolean
  /** The target's own session id, once it gave one. */
  readonly sessionId: () => string | undefined
  readonly send: (message: McpOutgoing) => void
  /** Opens the stream of messages that belong to no request. A shared channel has it open already: `onOpen` at once. */
  readonly listen: (stream: number, headers: ReadonlyArray<string>, lastEventId: string | undefined) => void
  /** Stops and restarts reading one stream. A shared channel ignores it. */
  readonly pause: (stream: number) => void
  readonly resume: (stream: number) => void
  /** The answer has come: the stream should end by itself, and is dropped if it does not. Nothing of it counts any more. */
  readonly release: (stream: number) => void
  /** Nobody reads this stream any more: drop the connection that carries it. No `onEnd` follows. */
  readonly abandon: (stream: number) => void
  /** Ends the connection. With headers, a session at the target is ended with them as well. */
  readonly close: (farewell: ReadonlyArray<string> | undefined) => void
}

/** What a channel that carries all messages of a target has no part in: it has no stream that could be paused or dropped. */
export const sharedChannel = {
  shared: true,
  sessionId: () => undefined,
  pause: () => {},
  resume: () => {},
  release: () => {},
  abandon: () => {}
} as const satisfies Partial<McpTransport>
