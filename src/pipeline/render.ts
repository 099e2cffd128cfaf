/** A failure becomes an answer here, and nowhere else: plain text, gRPC status, JSON-RPC error or OpenAI-shaped error. */
import { HeaderList } from "../http/header-list.ts"
import type { Answer, RequestHead } from "../http/message.ts"
import { NoBackend } from "./errors.ts"
import type { ErrorShape } from "./exchange.ts"
import type { StageError } from "./stage.ts"

/** What rendering needs to know of the exchange. */
export interface Audience {
  readonly request: RequestHead
  readonly errorShape: ErrorShape
  readonly rpcId: string | number | null
}

export const render = (error: StageError, audience: Audience): Answer => {
  const contentType = audience.request.headers.get("content-type")
  if (contentType?.startsWith("application/grpc")) return grpc(error)
  const headers = new HeaderList(error.headers === undefined ? [] : [...error.headers])
  const { type, body } = error.content ?? shapes[audience.errorShape](error, audience)
  if (type !== undefined) headers.set("content-type", type)
  return { status: error.status, headers, body: body === "" ? undefined : body }
}

interface Content {
  readonly type: string | undefined
  readonly body: string
}

const shapes: { readonly [S in ErrorShape]: (error: StageError, audience: Audience) => Content } = {
  http: (error) => ({ type: "text/plain", body: error.message }),
  jsonrpc: (error, { rpcId }) => ({
    type: "application/json",
    body: JSON.stringify({
      jsonrpc: "2.0",
      id: rpcId,
      error: { code: jsonRpcCode(error.status), message: error.message }
    })
  }),
  openai: (error) => ({
    type: "application/json",
    body: JSON.stringify({ error: { message: error.message, type: openAiType(error.status), param: null, code: null } })
  })
}

// JSON-RPC 2.0, 5.1; what is neither the caller's parameters nor its request is an internal error.
const jsonRpcCode = (status: number): number => (status === 400 ? -32_602 : status < 500 ? -32_600 : -32_603)

const openAiType = (status: number): string =>
  status === 429
    ? "rate_limit_error"
    : status === 401 || status === 403
      ? "authentication_error"
      : status < 500
        ? "invalid_request_error"
        : "server_error"

/** gRPC tells failures in headers of a 200; numbers by the table of grpc/doc/http-grpc-status-mapping.md. */
const grpc = (error: StageError): Answer => ({
  status: 200,
  headers: new HeaderList([
    ...(error.headers ?? []),
    "content-type",
    "application/grpc",
    "grpc-status",
    String(grpcStatus(error)),
    "grpc-message",
    percentEncoded(error.message)
  ]),
  body: undefined
})

const grpcStatus = (error: StageError): number => {
  switch (error.status) {
    case 400:
      return 13
    case 401:
    case 407:
      return 16
    case 403:
      return 7
    case 404:
      return 12
    case 429:
    case 502:
    case 503:
    case 504:
      return 14
    default:
      return error instanceof NoBackend && error.detail === "no valid backends" ? 14 : 2
  }
}

const encoder = new TextEncoder()
/** The encoding of `grpc-message`: everything outside printable ASCII, and the percent sign, as `%XX` of its UTF-8. */
const percentEncoded = (text: string): string => {
  let out = ""
  for (const byte of encoder.encode(text))
    out +=
      byte >= 0x20 && byte <= 0x7e && byte !== 0x25
        ? String.fromCharCode(byte)
        : `%${byte.toString(16).toUpperCase().padStart(2, "0")}`
  return out
}
