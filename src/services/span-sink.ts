/** Port: where finished spans go. */
import { Context } from "effect"

export interface FinishedSpan {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId: string | undefined
  readonly name: string
  readonly kind: "server" | "client" | "internal"
  /** Milliseconds since 1970, with fractions. */
  readonly start: number
  readonly end: number
  readonly attributes: Readonly<Record<string, string | number | boolean>>
  /** The text of the failure, if it failed. */
  readonly error: string | undefined
}

export class SpanSink extends Context.Service<
  SpanSink,
  {
    /** Takes the spans of one request. Must not wait and must not throw. */
    readonly add: (spans: ReadonlyArray<FinishedSpan>) => void
  }
>()("headgate/services/SpanSink") {}
