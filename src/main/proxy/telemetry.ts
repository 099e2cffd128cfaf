/** Export of spans and metrics, when the environment names a collector; its libraries are loaded only then. */
import { Context, Effect, Layer, Result, Schema, type Scope } from "effect"
import type { Collector } from "../../../layers/otlp/spans.ts"
import { spanBatches } from "../../../spec/span-batches.ts"
import { type Sampler, samplerOf } from "../../pipeline/sampling.ts"
import type { Metrics } from "../../services/metrics.ts"
import { SpanSink } from "../../services/span-sink.ts"
import { version } from "../version.ts"

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
    const batches = spanBatches(env)
    if (Result.isFailure(batches)) return yield* Effect.fail({ message: batches.failure })
    const off = env["OTEL_SDK_DISABLED"] === "true"
    const endpoint = (signal: string, ...more: ReadonlyArray<string>) =>
      !off &&
      env[`OTEL_${signal}_EXPORTER`] !== "none" &&
      first(env, ...more, "OTEL_EXPORTER_OTLP_ENDPOINT", `OTEL_EXPORTER_OTLP_${signal}_ENDPOINT`) !== undefined
    const traces = endpoint("TRACES", "OTLP_ENDPOINT")
    if (!traces && !endpoint("METRICS")) return { sampler: undefined, spans: undefined }
    const { makeResource } = yield* Effect.promise(() => import("../../../layers/otlp/resource.ts"))
    const resource = makeResource(version.version, env)
    if (endpoint("METRICS")) {
      const { layer } = yield* Effect.promise(() => import("../../../layers/otlp/metrics.ts"))
      const interval = Number(env["OTEL_METRIC_EXPORT_INTERVAL"])
      yield* Layer.build(layer({ resource, interval: interval > 0 ? interval : undefined, now: () => Date.now() }))
    }
    if (!traces) return { sampler: undefined, spans: undefined }
    const { layer } = yield* Effect.promise(() => import("../../../layers/otlp/spans.ts"))
    const built = yield* Layer.build(layer(resource, { ...(yield* collector(env)), batches: batches.success }))
    return { sampler, spans: Context.get(built, SpanSink) }
  })

/** The first of several variables that is set. */
const first = (env: Environment, ...names: ReadonlyArray<string>): string | undefined => {
  const name = names.find((each) => env[each] !== undefined && env[each] !== "")
  return name === undefined ? undefined : env[name]
}

/** Where spans go, as far as the exporter does not read it from the environment itself. */
const collector = (env: Environment): Effect.Effect<Omit<Collector, "batches">, { readonly message: string }> => {
  const all = (what: string) => [`OTLP_${what}`, `OTEL_EXPORTER_OTLP_TRACES_${what}`, `OTEL_EXPORTER_OTLP_${what}`]
  if (first(env, ...all("PROTOCOL")) === "grpc")
    return Effect.fail({ message: "OTLP over gRPC is not available yet: set OTEL_EXPORTER_OTLP_PROTOCOL to http" })
  const endpoint = first(env, "OTLP_ENDPOINT")
  return Effect.map(headersOf(first(env, ...all("HEADERS"))), (headers) => ({
    url: endpoint === undefined ? undefined : `${endpoint.replace(/\/+$/, "")}/v1/traces`,
    headers
  }))
}

/** `k=v,k=v`, or a JSON object. */
const headersOf = (text = ""): Effect.Effect<Readonly<Record<string, string>>, { readonly message: string }> => {
  if (!text.trim().startsWith("{"))
    return Effect.succeed(
      Object.fromEntries(
        text
          .split(",")
          .filter((pair) => pair.includes("="))
          .map((pair) => [pair.slice(0, pair.indexOf("=")).trim(), decoded(pair.slice(pair.indexOf("=") + 1).trim())])
      )
    )
  return Effect.mapError(
    Schema.decodeUnknownEffect(Schema.fromJsonString(Schema.Record(Schema.String, Schema.String)))(text),
    () => ({ message: "the headers of the OTLP collector are no JSON object of texts" })
  )
}

/** Values may be percent-encoded, as in the baggage of traces. */
const decoded = (value: string): string => {
  try {
    return decodeURIComponent(value)
  } catch {
    return value
  }
}
