/** What a gRPC request says of itself in its head: that it is one, and how long its caller waits for it. */
import type { HeaderList } from "./header-list.ts"

export const isGrpc = (headers: HeaderList): boolean =>
  headers.get("content-type")?.startsWith("application/grpc") === true

/** Whether what has such headers can only be sent in HTTP/2: the protocol for browsers is called gRPC, too. */
export const needsHttp2 = (headers: HeaderList): boolean => {
  const type = headers.get("content-type")
  return type?.startsWith("application/grpc") === true && !type.startsWith("-web", "application/grpc".length)
}

const header = "grpc-timeout"

/** Milliseconds of each unit. */
const units: Readonly<Record<string, number>> = { H: 3_600_000, M: 60_000, S: 1000, m: 1, u: 1e-3, n: 1e-6 }

/** Milliseconds; `undefined`: it is none. Digits of ASCII, eight at most, and one unit, as the protocol has it. */
export const parseGrpcTimeout = (text: string): number | undefined => {
  const digits = text.length - 1
  if (digits < 1 || digits > 8) return undefined
  let number = 0
  for (let at = 0; at < digits; at++) {
    const digit = text.charCodeAt(at) - 0x30
    if (digit < 0 || digit > 9) return undefined
    number = number * 10 + digit
  }
  const unit = units[text[digits]!]
  return unit === undefined ? undefined : number * unit
}

/** The same time, in the finest unit that it can be told in, and never more of it. */
export const formatGrpcTimeout = (milliseconds: number): string => {
  for (const unit of ["n", "u", "m", "S", "M"]) {
    const number = Math.floor(milliseconds / units[unit]!)
    if (number < 1e8) return `${number}${unit}`
  }
  return `${Math.min(99_999_999, Math.floor(milliseconds / units["H"]!))}H`
}

/** How long the caller waits from the arrival of its request, in milliseconds; `undefined` where it does not say. */
export const grpcTimeoutOf = (method: string, headers: HeaderList): number | "malformed" | undefined => {
  // Requests of gRPC are POSTs: others are not looked through.
  if (method !== "POST") return undefined
  const said = headers.get(header)
  if (said === undefined || !isGrpc(headers)) return undefined
  return headers.getAll(header).length > 1 ? "malformed" : (parseGrpcTimeout(said) ?? "malformed")
}

/** Tells whoever is called next what is left of that time. */
export const passGrpcTimeout = (headers: HeaderList, milliseconds: number): void => {
  headers.set(header, formatGrpcTimeout(Math.max(0, milliseconds)))
}
