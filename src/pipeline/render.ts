/** A failure becomes an answer here, and nowhere else: plain text or a gRPC status. Protocols bring content of their own. */
import { isGrpc } from "../http/grpc.ts"
import { HeaderList } from "../http/header-list.ts"
import type { Answer, RequestHead } from "../http/message.ts"
import { NoBackend } from "./errors.ts"
import type { StageError } from "./stage.ts"

export const render = (error: StageError, request: RequestHead): Answer => {
  if (isGrpc(request.headers)) return grpc(error)
  const headers = new HeaderList(error.headers === undefined ? [] : [...error.headers])
  const { type, body } = error.content ?? { type: "text/plain", body: error.message }
  if (type !== undefined) headers.set("content-type", type)
  return { status: error.status, headers, body: body === "" ? undefined : body }
}

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
