/** Everything that can go wrong with a request, as values, and the one place that turns them into answers. */
import type { TargetBroken, TargetFailure } from "../../services/mcp-transport.ts"
import { errorMessage } from "./envelope.ts"
import { returnedHeaders } from "./headers.ts"

/** Refused before it was read as a message: answered in plain text. */
export interface HttpRefusal {
  readonly _tag: "HttpRefusal"
  readonly status: number
  readonly message: string
  /** Flat raw list. */
  readonly headers?: ReadonlyArray<string>
}

/** Refused as a message: answered with a JSON-RPC error (in plain text if the message had no id). */
export interface RpcRefusal {
  readonly _tag: "RpcRefusal"
  readonly status: number
  readonly code: number
  readonly message: string
  readonly data?: unknown
}

/** Everything that can go wrong. */
export type McpFailure = HttpRefusal | RpcRefusal | TargetFailure

/** JSON-RPC error codes, the last two of the MCP revision 2026-07-28. */
export const code = {
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  internal: -32603,
  headerMismatch: -32020,
  unsupportedVersion: -32022
} as const

const text = (status: number, message: string): HttpRefusal => ({ _tag: "HttpRefusal", status, message })

/** RFC 9110 15.5.6: which methods there are instead. */
const notAllowed = (message: string, allowed: string): HttpRefusal => ({
  ...text(405, message),
  headers: ["allow", allowed]
})

/** The refusals of the streamable HTTP transport that do not depend on the request. */
export const refusal = {
  methodNotAllowed: notAllowed("method not allowed; must be GET, POST, or DELETE", "GET, POST, DELETE"),
  /** A backend without sessions has none to listen to or to end. */
  statelessMethodNotAllowed: notAllowed("method not allowed; must be GET, POST, or DELETE", "POST"),
  acceptBoth: text(406, "client must accept both application/json and text/event-stream"),
  acceptStream: text(406, "client must accept text/event-stream"),
  sendJson: text(415, "client must send application/json"),
  sessionRequired: text(400, "session header is required for non-initialize requests"),
  sessionIdRequired: text(400, "session ID is required"),
  invalidSessionHeader: text(400, "invalid session ID header"),
  sessionNotFound: text(404, "session not found"),
  invalidVersionHeader: text(400, "invalid MCP protocol version header"),
  sseMethodNotAllowed: notAllowed("method not allowed; must be GET or POST", "GET, POST"),
  noSessionQuery: text(422, "failed to process session_id query parameter"),
  noEventStream: notAllowed("GET event stream is not supported by any upstream", "POST, DELETE"),
  noBackends: text(503, "no backends configured"),
  noneLeft: text(503, "no upstreams available")
} as const

/** The body is no message. */
export const undecodable = (reason: string): HttpRefusal => text(400, `fail to deserialize request body: ${reason}`)

/** An unknown version on a message without an id. */
export const unsupportedVersionText = (version: string): HttpRefusal =>
  text(400, `unsupported MCP protocol version: ${version}`)

/** A refusal in JSON-RPC. */
export const rpcRefusal = (status: number, code: number, message: string, data?: unknown): RpcRefusal =>
  data === undefined
    ? { _tag: "RpcRefusal", status, code, message }
    : { _tag: "RpcRefusal", status, code, message, data }

/** The request cannot reach a target: a name or URI that belongs to none, or parameters that name nothing. */
export const notSent = (modern: boolean, detail: string): RpcRefusal =>
  modern
    ? rpcRefusal(400, code.invalidParams, detail)
    : rpcRefusal(500, code.internal, `failed to send message: ${detail}`)

/** A bound on sessions is reached, and the setting that moves it. */
export const tooManySessions = {
  ofBackend: (most: number) =>
    rpcRefusal(503, code.internal, `too many sessions of this backend (maxSessions: ${most})`),
  ofAddress: (most: number) =>
    rpcRefusal(429, code.internal, `too many sessions of this address (maxSessionsPerAddress: ${most})`)
}

/** A session has one handshake. */
export const begunAlready: RpcRefusal = notSent(false, "the session is initialized already")

/** No target is left that could be asked. */
export const noUpstreams = (modern: boolean): RpcRefusal =>
  modern
    ? rpcRefusal(503, code.internal, "no upstreams available")
    : rpcRefusal(500, code.internal, "failed to send message: no upstreams available")

/**
 * Authorization denies an item in the words in which a missing one is reported, so that the answer does not tell
 * whether it exists. Status 200: clients read a JSON-RPC error from it, where they turn a 400 into a broken transport.
 */
export const unknownItem = (kind: "tool" | "prompt" | "resource" | "task", clientName: string): RpcRefusal =>
  rpcRefusal(200, code.invalidParams, `Unknown ${kind}: ${clientName}`)

/** A method that nobody here serves. Never 404 for clients with a session: they would take the session for lost. */
export const unknownMethod = (modern: boolean, method: string): RpcRefusal =>
  rpcRefusal(modern ? 404 : 200, code.methodNotFound, `method not found: ${method}`)

const broken = (message: string): TargetBroken => ({ _tag: "TargetBroken", status: 500, message })

/** The time that a request may take is up. */
export const requestLate = (message: string): RpcRefusal => rpcRefusal(504, code.internal, message)

/** Why a call to a target ends without its answer. */
export const linkFailure = {
  closed: broken("upstream closed on receive"),
  noAnswer: broken("upstream closed the stream without an answer"),
  notJson: broken("upstream sent a message that is not JSON-RPC"),
  sessionOver: broken("the session is over"),
  noServerRequests: rpcRefusal(
    200,
    code.internal,
    "gateway cannot route direct server-to-client requests; return an input_required result instead"
  ),
  duplicateId: rpcRefusal(400, code.invalidRequest, "a request with this id is still unanswered"),
  tooManyRequests: rpcRefusal(503, code.internal, "too many unanswered requests in this session"),
  tooManyMessages: rpcRefusal(503, code.internal, "too many messages of this session are on their way")
} as const

/** What a failure says in a JSON-RPC error. */
const described = (failure: McpFailure): string => {
  switch (failure._tag) {
    case "HttpRefusal":
    case "RpcRefusal":
      return failure.message
    case "TargetStatus":
      return `upstream answered with status ${failure.status}`
    default:
      return `failed to send message: ${failure.message}`
  }
}

/** The code that a failure has in a JSON-RPC error and in the access log. */
export const codeOf = (failure: McpFailure): number => (failure._tag === "RpcRefusal" ? failure.code : code.internal)

/** A failure as a message of a stream that has begun. `id` is JSON text. */
export const failureMessage = (failure: McpFailure, id: string): string =>
  errorMessage(id, codeOf(failure), described(failure), failure._tag === "RpcRefusal" ? failure.data : undefined)

/** Status, headers (flat raw list) and body; what failed, unless the answer is that of a target or a JSON-RPC answer. */
export interface WholeAnswer {
  readonly status: number
  readonly headers: ReadonlyArray<string>
  readonly body: string | Uint8Array
  readonly failure: string | undefined
}

const plain: ReadonlyArray<string> = ["content-type", "text/plain"]
const json: ReadonlyArray<string> = ["content-type", "application/json"]

/** A failure as an HTTP answer. `id` is JSON text; `undefined` if the message had none. */
export const failureAnswer = (failure: McpFailure, id: string | undefined): WholeAnswer => {
  const { status, message } = failure
  switch (failure._tag) {
    case "HttpRefusal":
      return { status, headers: [...(failure.headers ?? []), ...plain], body: `mcp: ${message}`, failure: message }
    case "TargetStatus":
      return { status, headers: returnedHeaders(failure.headers), body: failure.body, failure: undefined }
    case "TargetBusy":
      // A bound of the gateway: clients show the message of a JSON-RPC error, and hardly ever a text.
      return id === undefined
        ? { status, headers: plain, body: message, failure: message }
        : { status, headers: json, body: failureMessage(failure, id), failure: message }
    case "TargetUnreachable":
    case "TargetTimeout":
    case "TargetNotStarted":
      return { status, headers: plain, body: message, failure: message }
    default:
      if (id === undefined)
        return {
          status: status === 200 ? 400 : status,
          headers: plain,
          body: `mcp: ${described(failure)}`,
          failure: message
        }
      return {
        status,
        headers: json,
        body: failureMessage(failure, id),
        failure: status === 200 ? undefined : message
      }
  }
}
