/**
 * Metrics over OTLP/HTTP: the families that a scrape shows, pushed at the standard interval. A producer hands them over,
 * since the SDK has no asynchronous histogram.
 */
import { ValueType } from "@opentelemetry/api"
import { OTLPMetricExporter } from "@opentelemetry/exporter-metrics-otlp-http"
import type { Resource } from "@opentelemetry/resources"
import {
  AggregationTemporality,
  type CollectionResult,
  DataPointType,
  type MetricData,
  type MetricProducer,
  PeriodicExportingMetricReader
} from "@opentelemetry/sdk-metrics"
import { Effect, Layer } from "effect"
import { type FamilyReading, Metrics } from "../../src/services/metrics.ts"
import { scope } from "./resource.ts"
import { hrTime } from "./time.ts"

export interface MetricsOptions {
  readonly resource: Resource
  /** Milliseconds between two exports. Default: the SDK's, from OTEL_METRIC_EXPORT_INTERVAL. */
  readonly interval: number | undefined
  /** Milliseconds since 1970. */
  readonly now: () => number
}

export const layer = ({ resource, interval, now }: MetricsOptions): Layer.Layer<never, never, Metrics> =>
  Layer.effectDiscard(
    Effect.gen(function* () {
      const metrics = yield* Metrics
      const started = now()
      const producer: MetricProducer = {
        collect: async (): Promise<CollectionResult> => ({
          errors: [],
          resourceMetrics: {
            resource,
            scopeMetrics: [
              { scope, metrics: (await metrics.read()).flatMap((family) => toData(family, started, now())) }
            ]
          }
        })
      }
      yield* Effect.acquireRelease(
        Effect.sync(() => {
          const reader = new PeriodicExportingMetricReader({
            exporter: new OTLPMetricExporter(),
            ...(interval === undefined ? {} : { exportIntervalMillis: interval })
          })
          // In the place of the SDK's own producer: without one a reader never begins.
          reader.setMetricProducer(producer)
          return reader
        }),
        (reader) => Effect.ignore(Effect.tryPromise(() => reader.shutdown()))
      )
    })
  )

const toData = (family: FamilyReading, started: number, now: number): ReadonlyArray<MetricData> => {
  const common = {
    descriptor: { name: family.name, description: family.help, unit: "", valueType: ValueType.DOUBLE },
    aggregationTemporality: AggregationTemporality.CUMULATIVE
  }
  const times = { startTime: hrTime(started), endTime: hrTime(now) }
  switch (family.type) {
    case "counter":
    case "gauge": {
      const dataPoints = family.points.map(({ labels, value }) => ({ ...times, attributes: { ...labels }, value }))
      return family.type === "gauge"
        ? [{ ...common, dataPointType: DataPointType.GAUGE, dataPoints }]
        : [{ ...common, dataPointType: DataPointType.SUM, isMonotonic: true, dataPoints }]
    }
    case "histogram":
      return [
        {
          ...common,
          dataPointType: DataPointType.HISTOGRAM,
          dataPoints: family.points.map(({ labels, sum, count, bounds, counts }) => ({
            ...times,
            attributes: { ...labels },
            value: { buckets: { boundaries: [...bounds], counts: [...counts] }, sum, count }
          }))
        }
      ]
  }
}
