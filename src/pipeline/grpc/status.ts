/** How calls of gRPC end: the codes of the protocol, and failures that carry one. */
import { Data } from "effect"
import { HeaderList } from "../../http/header-list.ts"
import type { StageError } from "../stage.ts"

/** By number (grpc/doc/statuscodes.md). */
export const codes = [
  "OK",
  "CANCELLED",
  "UNKNOWN",
  "INVALID_ARGUMENT",
  "DEADLINE_EXCEEDED",
  "NOT_FOUND",
  "ALREADY_EXISTS",
  "PERMISSION_DENIED",
  "RESOURCE_EXHAUSTED",
  "FAILED_PRECONDITION",
  "ABORTED",
  "OUT_OF_RANGE",
  "UNIMPLEMENTED",
  "INTERNAL",
  "UNAVAILABLE",
  "DATA_LOSS",
  "UNAUTHENTICATED"
] as const
/** The name of a code. */
export type GrpcCode = (typeof codes)[number]

/** The server said so, or what came from it is no answer of the protocol. How a call failed before there was one is told as ever. */
export class GrpcFailed
  extends Data.TaggedError("GrpcFailed")<{
    readonly code: GrpcCode
    /** What the server said of it: it may hold anything, and is no text for clients. */
    readonly detail: string
    readonly metadata: HeaderList
  }>
  implements StageError
{
  readonly status = this.code === "DEADLINE_EXCEEDED" ? 504 : this.code === "UNAVAILABLE" ? 503 : 502
  readonly source = "backend"
  override get message() {
    return `grpc call failed: ${this.code}`
  }
}

const nothing = new HeaderList()

export const failed = (code: GrpcCode, detail: string, metadata: HeaderList = nothing): GrpcFailed =>
  new GrpcFailed({ code, detail, metadata })

/** By the HTTP status of what is no answer of gRPC (grpc/doc/http-grpc-status-mapping.md). */
const ofHttp: Readonly<Record<number, GrpcCode>> = {
  400: "INTERNAL",
  401: "UNAUTHENTICATED",
  403: "PERMISSION_DENIED",
  404: "UNIMPLEMENTED",
  429: "UNAVAILABLE",
  502: "UNAVAILABLE",
  503: "UNAVAILABLE",
  504: "UNAVAILABLE"
}

export const codeOfHttp = (status: number): GrpcCode => ofHttp[status] ?? "UNKNOWN"

/** The code of whatever a call can fail with. */
export const codeOf = (error: StageError): GrpcCode =>
  error instanceof GrpcFailed ? error.code : error.status === 504 ? "DEADLINE_EXCEEDED" : codeOfHttp(error.status)

/**
 * How a call ended, as trailers say, or a head without a body.
 * @returns `undefined`: well.
 */
export const endingOf = (list: HeaderList): GrpcFailed | undefined => {
  const said = list.getAll("grpc-status")
  const code = said.length === 1 && digits.test(said[0]!) ? Number(said[0]) : -1
  if (code === 0) return undefined
  const detail = unescaped(list.get("grpc-message") ?? "")
  if (code < 0) return failed("UNKNOWN", said.length === 0 ? "the server did not say how it ended" : "no status", list)
  return failed(codes[code] ?? "UNKNOWN", detail, list)
}

/** Why a head is none of gRPC; whoever answers so is no server of it. */
export const headFault = (status: number, headers: HeaderList): GrpcFailed | undefined => {
  if (headers.has("grpc-status")) return undefined
  if (status !== 200) return failed(codeOfHttp(status), `HTTP status ${status}`, headers)
  return headers.get("content-type")?.startsWith("application/grpc") === true
    ? undefined
    : failed("UNKNOWN", "the answer is not one of gRPC", headers)
}

const digits = /^(0|[1-9][0-9]{0,3})$/

/** A message, whose bytes beyond ASCII are written `%XX`. What is not written so stays as it is. */
const unescaped = (text: string): string => {
  if (!text.includes("%")) return text
  const bytes: Array<number> = []
  for (let i = 0; i < text.length; i++) {
    const byte = text[i] === "%" ? hex.exec(text.slice(i, i + 3)) : null
    bytes.push(byte === null ? text.charCodeAt(i) & 255 : Number.parseInt(byte[1]!, 16))
    if (byte !== null) i += 2
  }
  return new TextDecoder().decode(Uint8Array.from(bytes))
}
const hex = /^%([0-9a-fA-F]{2})$/
