/** Export of spans and metrics, when the environment names a collector; its libraries are loaded only then. */
import { Context, Effect, Layer, type Scope } from "effect"
import { type Sampler, samplerOf } from "../pipeline/sampling.ts"
import type { Metrics } from "../services/metrics.ts"
import { SpanSink } from "../services/span-sink.ts"
import { version } from "./version.ts"

type Environment = Readonly<Record<string, string | undefined>>

/** The most requests in a second that a client's sampled flag may make us trace. */
const clientSamplesPerSecond = 100

export interface Telemetry {
  readonly sampler: Sampler | undefined
  readonly spans: SpanSink["Service"] | undefined
}

export const telemetry = (
  env: Environment
): Effect.Effect<Telemetry, { readonly message: string }, Metrics | Scope.Scope> =>
  Effect.gen(function* () {
    const sampler = samplerOf(
      env["OTEL_TRACES_SAMPLER"],
      env["OTEL_TRACES_SAMPLER_ARG"],
      Math.random,
      () => performance.now(),
      clientSamplesPerSecond
    )
    if (typeof sampler === "string") return yield* Effect.fail({ message: sampler })
    const off = env["OTEL_SDK_DISABLED"] === "true"
    const endpoint = (signal: string) =>
      !off &&
      env[`OTEL_${signal}_EXPORTER`] !== "none" &&
      (env["OTEL_EXPORTER_OTLP_ENDPOINT"] ?? env[`OTEL_EXPORTER_OTLP_${signal}_ENDPOINT`]) !== undefined
    if (!endpoint("TRACES") && !endpoint("METRICS")) return { sampler: undefined, spans: undefined }
    const { makeResource } = yield* Effect.promise(() => import("../../layers/otlp/resource.ts"))
    const resource = makeResource(version.version, env)
    if (endpoint("METRICS")) {
      const { layer } = yield* Effect.promise(() => import("../../layers/otlp/metrics.ts"))
      const interval = Number(env["OTEL_METRIC_EXPORT_INTERVAL"])
      yield* Layer.build(layer({ resource, interval: interval > 0 ? interval : undefined, now: () => Date.now() }))
    }
    if (!endpoint("TRACES")) return { sampler: undefined, spans: undefined }
    const { layer } = yield* Effect.promise(() => import("../../layers/otlp/spans.ts"))
    const built = yield* Layer.build(layer(resource))
    return { sampler, spans: Context.get(built, SpanSink) }
  })
