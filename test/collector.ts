/** An OpenTelemetry collector of tests: takes spans and metrics as OTLP over HTTP, in JSON. */
import { json } from "node:stream/consumers"
import { Effect, type Scope } from "effect"
import { httpBackend, portOf } from "./http/edge.ts"
import { type Program, startHeadgate } from "./program.ts"

type Attributes = ReadonlyArray<{ readonly key: string; readonly value: Readonly<Record<string, unknown>> }>

export interface Span {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
  readonly name: string
  /** 1 internal, 2 server, 3 client. */
  readonly kind: number
  /** Nanoseconds since 1970. */
  readonly startTimeUnixNano: string
  readonly endTimeUnixNano: string
  readonly status: { readonly code: number; readonly message?: string }
  readonly attributes: Attributes
}

export interface Point {
  readonly attributes: Attributes
  readonly asDouble?: number
  readonly sum?: number
  readonly count?: number | string
}

export interface Collector {
  readonly port: number
  readonly spans: Array<Span>
  /** The newest points of each metric. */
  readonly metrics: Map<string, ReadonlyArray<Point>>
  /** Attributes of whoever sent something. */
  readonly resources: Array<Readonly<Record<string, unknown>>>
}

export const attributesOf = ({ attributes }: { readonly attributes: Attributes }): Readonly<Record<string, unknown>> =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]))

interface Metric {
  readonly name: string
  readonly sum?: { readonly dataPoints: ReadonlyArray<Point> }
  readonly gauge?: { readonly dataPoints: ReadonlyArray<Point> }
  readonly histogram?: { readonly dataPoints: ReadonlyArray<Point> }
}
interface Sent {
  readonly resourceSpans?: ReadonlyArray<{
    readonly resource: { readonly attributes: Attributes }
    readonly scopeSpans: ReadonlyArray<{ readonly spans: ReadonlyArray<Span> }>
  }>
  readonly resourceMetrics?: ReadonlyArray<{
    readonly resource: { readonly attributes: Attributes }
    readonly scopeMetrics: ReadonlyArray<{ readonly metrics: ReadonlyArray<Metric> }>
  }>
}

/** Listens until the scope ends. */
export const collector: Effect.Effect<Collector, never, Scope.Scope> = Effect.gen(function* () {
  const spans: Array<Span> = []
  const metrics = new Map<string, ReadonlyArray<Point>>()
  const resources: Array<Readonly<Record<string, unknown>>> = []
  const server = yield* httpBackend(async (request, response) => {
    const { resourceSpans = [], resourceMetrics = [] } = (await json(request)) as Sent
    for (const { resource, scopeSpans } of resourceSpans) {
      resources.push(attributesOf(resource))
      for (const scope of scopeSpans) spans.push(...scope.spans)
    }
    for (const { resource, scopeMetrics } of resourceMetrics) {
      resources.push(attributesOf(resource))
      for (const scope of scopeMetrics)
        for (const { name, sum, gauge, histogram } of scope.metrics)
          metrics.set(name, (sum ?? gauge ?? histogram)?.dataPoints ?? [])
    }
    response.writeHead(200, { "content-type": "application/json" }).end("{}")
  })
  return { port: portOf(server.address()), spans, metrics, resources }
})

/** A proxy as a process of its own, until the scope ends: it samples every request, and sends spans soon and nothing else. */
export const startSampled = (
  configuration: string,
  { port }: Pick<Collector, "port">,
  env: Readonly<Record<string, string>> = {}
): Effect.Effect<Program, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.promise(() =>
      startHeadgate(["-c", configuration], {
        OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}`,
        OTEL_METRICS_EXPORTER: "none",
        OTEL_TRACES_SAMPLER: "always_on",
        OTEL_BSP_SCHEDULE_DELAY: "50",
        ...env
      })
    ),
    (program) => Effect.promise(() => program[Symbol.asyncDispose]())
  )
