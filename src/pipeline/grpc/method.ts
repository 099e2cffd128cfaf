/** The methods of gRPC services, and what a call of one says besides its message. How messages become bytes is for whoever knows them. */

import { formatGrpcTimeout } from "../../http/grpc.ts"
import { HeaderList, isHeaderName, isHeaderValue } from "../../http/header-list.ts"
import { FilterFailed } from "../errors.ts"
import type { SubRequest } from "../sub-calls.ts"

/** A method of a service, and how its messages are read and written. */
export interface GrpcMethod<I, O> {
  /** `/package.Service/Method`. */
  readonly path: string
  readonly encode: (message: I) => Uint8Array
  /** May throw. */
  readonly decode: (bytes: Uint8Array) => O
}

/** What a call says besides its message, and how long it may take. */
export interface GrpcOptions {
  /** Milliseconds until all of it must be over, where the reference does not say. */
  readonly timeout: number
  /** Names in lower case; values of names that end in `-bin` are base64 (`binary`). */
  readonly metadata?: HeaderList | undefined
  /** The most bytes of a message of the server. Default: 4 MiB. */
  readonly maxBytes?: number | undefined
  /** Default: that of the backend. */
  readonly authority?: string | undefined
}

export const defaultMaxBytes = 4_194_304

/** The value of a field whose name ends in `-bin`. */
export const binary = (bytes: Uint8Array): string => Buffer.from(bytes).toString("base64").replace(/=+$/, "")

/** The request of a call, or what of it cannot be sent. */
export const requestOf = (
  path: string,
  body: SubRequest["body"],
  { timeout, metadata, authority }: GrpcOptions
): SubRequest | FilterFailed => {
  const headers = new HeaderList([
    "te",
    "trailers",
    "content-type",
    "application/grpc",
    "grpc-timeout",
    formatGrpcTimeout(timeout)
  ])
  for (const [name, value] of metadata ?? []) {
    if (!isHeaderName(name) || !isHeaderValue(value) || isReserved(name))
      return new FilterFailed({ detail: `metadata ${JSON.stringify(name)} cannot be sent` })
    headers.add(name, value)
  }
  return { method: "POST", pathAndQuery: path, authority, headers, body }
}

const own = new Set(["te", "content-type", "content-length", "host", "connection", "transfer-encoding", "upgrade"])
const isReserved = (name: string): boolean => name.startsWith("grpc-") || own.has(name)
