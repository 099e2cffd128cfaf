/** W3C Trace Context (version 00): reading `traceparent` of a request, and writing the one that goes on. */
import { randomBytes } from "node:crypto"

export interface TraceContext {
  /** 32 hexadecimal digits. */
  readonly traceId: string
  /** 16 hexadecimal digits. */
  readonly spanId: string
  readonly sampled: boolean
}

const shape = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/

/** The context of a `traceparent`; anything malformed counts as absent. */
export const parseTraceparent = (header: string | undefined): TraceContext | undefined => {
  if (header === undefined) return undefined
  const match = shape.exec(header)
  if (match === null || match[1] === "ff" || (match[1] === "00" && match[5] !== undefined)) return undefined
  if (/^0+$/.test(match[2]!) || /^0+$/.test(match[3]!)) return undefined
  return { traceId: match[2]!, spanId: match[3]!, sampled: (Number.parseInt(match[4]!, 16) & 1) === 1 }
}

export const formatTraceparent = (context: TraceContext): string =>
  `00-${context.traceId}-${context.spanId}-${context.sampled ? "01" : "00"}`

export const newTraceId = (): string => nonZero(16)
export const newSpanId = (): string => nonZero(8)

const nonZero = (bytes: number): string => {
  const id = randomBytes(bytes).toString("hex")
  return /^0+$/.test(id) ? nonZero(bytes) : id
}
