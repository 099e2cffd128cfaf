/** Spans over OTLP/HTTP: finished ones become the exporter's shape and leave in batches. Loaded only when an endpoint is configured. */
import { SpanKind, SpanStatusCode, TraceFlags } from "@opentelemetry/api"
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http"
import type { Resource } from "@opentelemetry/resources"
import { BatchSpanProcessor, type ReadableSpan } from "@opentelemetry/sdk-trace"
import { Effect, Layer } from "effect"
import type { SpanBatches } from "../../spec/span-batches.ts"
import { type FinishedSpan, SpanSink } from "../../src/services/span-sink.ts"
import { scope } from "./resource.ts"
import { hrTime } from "./time.ts"

/**
 * Where spans go, and how they wait for it, beyond what the exporter reads from the standard OTEL_* variables itself. The SDK's
 * batches read none of them.
 */
export interface Collector {
  readonly url: string | undefined
  readonly headers: Readonly<Record<string, string>>
  readonly batches: SpanBatches
}

export const layer = (resource: Resource, { url, headers, batches }: Collector): Layer.Layer<SpanSink> =>
  Layer.effect(
    SpanSink,
    Effect.map(
      Effect.acquireRelease(
        Effect.sync(
          () =>
            new BatchSpanProcessor({
              ...batches,
              exporter: new OTLPTraceExporter({ headers, ...(url === undefined ? {} : { url }) })
            })
        ),
        // What is still queued leaves before the process does; an unreachable collector must not keep it.
        (processor) => Effect.ignore(Effect.tryPromise(() => processor.shutdown()))
      ),
      (processor) => ({
        add: (spans) => {
          for (const span of spans) processor.onEnd(readable(span, resource))
        }
      })
    )
  )

const kinds = { server: SpanKind.SERVER, client: SpanKind.CLIENT, internal: SpanKind.INTERNAL } as const

const readable = (span: FinishedSpan, resource: Resource): ReadableSpan => {
  const contextOf = (spanId: string) => ({ traceId: span.traceId, spanId, traceFlags: TraceFlags.SAMPLED })
  const context = contextOf(span.spanId)
  return {
    name: span.name,
    kind: kinds[span.kind],
    spanContext: () => context,
    ...(span.parentSpanId === undefined ? {} : { parentSpanContext: contextOf(span.parentSpanId) }),
    startTime: hrTime(span.start),
    endTime: hrTime(span.end),
    duration: hrTime(span.end - span.start),
    status:
      span.error === undefined ? { code: SpanStatusCode.UNSET } : { code: SpanStatusCode.ERROR, message: span.error },
    attributes: { ...span.attributes },
    links: [],
    events: [],
    ended: true,
    resource,
    instrumentationScope: scope,
    droppedAttributesCount: 0,
    droppedEventsCount: 0,
    droppedLinksCount: 0
  }
}
