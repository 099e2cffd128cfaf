/**
 * The relay as its caller sees it: a request with its identity goes in, a response comes out whose body is known
 * whole or is a stream of server-sent events. An HTTP engine needs to know nothing else of MCP.
 */
import type { Context, Effect } from "effect"
import type { McpItem } from "../../../spec/trace-events.ts"

/** May the principal of this request know and use the item? */
export type McpAuthorize = (item: McpItem) => boolean

/** W3C trace context, written to `params._meta` and to the headers of an upstream request. */
export interface TraceHeaders {
  readonly traceparent: string
  readonly tracestate?: string | undefined
  readonly baggage?: string | undefined
}

/** One message to one target, in the order of sending. */
export interface McpUpstreamCall {
  readonly target: string
  /** The method, or `response` for a client's answer to a target's request, `GET` for listening, `DELETE`. */
  readonly method: string
  /** Tool or prompt name at the target. */
  readonly name: string | undefined
  readonly startedAt: number
  /** `undefined` while it runs. Milliseconds of the relay's clock. */
  endedAt: number | undefined
  /** The HTTP status with which the target refused, the JSON-RPC code of its error answer. */
  failure: { readonly status?: number; readonly code?: number; readonly message: string } | undefined
}

/** Watches the upstream calls of a request as they happen: spans, trace events. */
export interface McpObserver {
  /** The span's context, if the call belongs to one. */
  readonly started: (call: McpUpstreamCall) => TraceHeaders | undefined
  /** What others are called with on behalf of a call that has started, so that they are told as parts of it. */
  readonly within?: ((call: McpUpstreamCall) => Context.Context<never> | undefined) | undefined
  readonly finished: (call: McpUpstreamCall) => void
}

/** How long the answer to the messages of a POST may take to begin, and what its client is told when it did not. */
export interface McpTimeLimit {
  readonly millis: number
  /** Asked when the time is up, since a failure is dear to make. */
  readonly message: () => string
}

/** One HTTP request to an MCP backend, its body read. */
export interface McpRequest {
  readonly method: string
  /** Path and query after rewrites; the path `/sse` is served in the transport of 2024-11-05. Default `/`. */
  readonly path?: string | undefined
  /** Path and query as the client sent them, where a rewrite changed them. */
  readonly originalPath?: string | undefined
  /** Host and port that the client addressed. */
  readonly authority: string
  /** Whether that host is one that the configuration names. */
  readonly namedHost?: boolean | undefined
  /** Whether the configuration allows pages of the request's origin. */
  readonly allowedOrigin?: boolean | undefined
  /** The port at which it came in over loopback, and whether nobody but this machine reaches the listener there. */
  readonly loopback?: { readonly port: number; readonly only: boolean } | undefined
  /** Flat raw list: name, value, name, value. */
  readonly headers: ReadonlyArray<string>
  readonly body: Uint8Array
  /** Who asks, as one opaque string; empty for an anonymous client. A session serves the principal that began it. */
  readonly principal: string
  /** The IP address that the request came from: what tells anonymous clients apart where they are counted. */
  readonly address: string
  /** The listener through which the request came. */
  readonly listener: string
  readonly authorize?: McpAuthorize | undefined
  readonly observer?: McpObserver | undefined
  /** Calls that are unanswered then are cancelled. The form of 2024-11-05 answers at once, so none applies there. */
  readonly timeLimit?: McpTimeLimit | undefined
  /** Filled as far as the request is understood, also when its client does not wait. Those of the response count, if one comes. */
  readonly facts?: McpFacts | undefined
}

/** What access log, metrics and expressions want to know of a request. */
export interface McpFacts {
  /** `undefined` for GET, DELETE and for responses of the client. */
  method: string | undefined
  sessionId: string | undefined
  target: string | undefined
  resourceType: "tool" | "prompt" | "resource" | "templates" | "task" | undefined
  /** Tool or prompt name, URI or task id at the target. */
  name: string | undefined
  /** The result with which the target answered for that name, as JSON-RPC text; `undefined` as long as it did not, or refused. */
  result: string | undefined
  errorCode: number | undefined
  errorMessage: string | undefined
  readonly calls: Array<McpUpstreamCall>
}

/** Takes the text of a stream. */
export interface McpSink {
  /** `false`: enough for now; the next text comes after `McpEventStream.resume`. */
  readonly write: (text: string) => boolean
  /** The stream is complete; the facts of the response are final. */
  readonly end: () => void
}

/** A stream of server-sent events, pushed as they come. Whoever gets it starts it, or cancels it. */
export interface McpEventStream {
  /** Begins the flow, at most once. What is there already is written at once, in one piece. */
  readonly start: (sink: McpSink) => void
  readonly resume: () => void
  /** The client is gone. A call that runs is not cancelled by it, unless its protocol version says so. */
  readonly cancel: () => void
}

/** The answer. An event stream ends when its request is answered. */
export interface McpResponse {
  readonly status: number
  /** Flat raw list, names in lower case, without content-length. */
  readonly headers: ReadonlyArray<string>
  readonly body: string | Uint8Array | McpEventStream
  /** Why the relay answers in place of a target. None for what the protocol itself counts as an answer. */
  readonly failure?: string | undefined
  /** Final when the body is known whole, or when the stream has ended. */
  readonly facts: McpFacts
}

/** Time, passed in so that tests own it. */
export interface McpClock {
  /** Milliseconds from any fixed point. */
  readonly now: () => number
  /** Runs `action` once after so many milliseconds; the returned function prevents it. */
  readonly after: (millis: number, action: () => void) => () => void
}

/** Something an operator should know; no part of an answer. */
export interface McpWarning {
  readonly backend: string
  readonly target: string
  readonly message: string
}

/** An MCP backend at work. */
export interface McpRelay {
  /** Never fails: every error is a response. An immediate answer is a ready `Exit`. */
  readonly handle: (request: McpRequest) => Effect.Effect<McpResponse>
  /** Sessions that this process holds. */
  readonly sessions: () => number
  /** Which process holds a session that lives in one process only; `undefined` if any may serve it. */
  readonly ownerOf: (request: McpRequest) => string | undefined
}
