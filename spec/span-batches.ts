/** How finished spans wait for the collector, as OpenTelemetry's variables of the batch span processor say: read and bounded here. */
import { Result, Schema, SchemaTransformation } from "effect"
import type { Environment } from "./config/expand.ts"

/** What a batch waits for; without a value the SDK's own holds. */
export interface SpanBatches {
  /** Milliseconds between two exports. */
  readonly scheduledDelayMillis?: number
  /** Milliseconds that an export may take. */
  readonly exportTimeoutMillis?: number
  /** Spans that wait at most; further ones are dropped. */
  readonly maxQueueSize?: number
  /** Spans of one export. */
  readonly maxExportBatchSize?: number
}

/** No timer of the runtime waits for longer than 24 days, and a longer wait than some hours loses more than it saves. */
const atMost = (most: number): Schema.Codec<number, string> => {
  const expected = `a whole number from 1 to ${most}`
  return Schema.String.check(Schema.isPattern(/^[0-9]{1,9}$/u, { expected })).pipe(
    Schema.decodeTo(
      Schema.Number.check(Schema.isBetween({ minimum: 1, maximum: most }, { expected })),
      SchemaTransformation.transform({ decode: Number, encode: String })
    )
  )
}

const mostMilliseconds = 3_600_000
const mostSpans = 1_000_000

export const spanBatchVariables = [
  {
    name: "OTEL_BSP_SCHEDULE_DELAY",
    option: "scheduledDelayMillis",
    most: mostMilliseconds,
    schema: atMost(mostMilliseconds),
    fallback: "`5000`",
    description: "Milliseconds for which spans are gathered before they are sent together."
  },
  {
    name: "OTEL_BSP_EXPORT_TIMEOUT",
    option: "exportTimeoutMillis",
    most: mostMilliseconds,
    schema: atMost(mostMilliseconds),
    fallback: "`30000`",
    description: "Milliseconds that the collector may take for the spans that are sent together."
  },
  {
    name: "OTEL_BSP_MAX_QUEUE_SIZE",
    option: "maxQueueSize",
    most: mostSpans,
    schema: atMost(mostSpans),
    fallback: "`2048`",
    description: "Spans that wait to be sent at most; further ones are dropped."
  },
  {
    name: "OTEL_BSP_MAX_EXPORT_BATCH_SIZE",
    option: "maxExportBatchSize",
    most: mostSpans,
    schema: atMost(mostSpans),
    fallback: "`512`",
    description: "Spans that are sent together at most; no more than wait at most."
  }
] as const satisfies ReadonlyArray<{ readonly option: keyof SpanBatches } & Record<string, unknown>>

/** What the environment says, or what is wrong with it. */
export const spanBatches = (env: Environment): Result.Result<SpanBatches, string> => {
  const batches: { -readonly [K in keyof SpanBatches]: SpanBatches[K] } = {}
  for (const { name, option, most, schema } of spanBatchVariables) {
    const value = env[name]
    // As in a shell script: a variable that is set to nothing is not set.
    if (value === undefined || value === "") continue
    const read = Schema.decodeUnknownResult(schema)(value)
    if (Result.isFailure(read)) return Result.fail(`${name}: expected a whole number from 1 to ${most}`)
    batches[option] = read.success
  }
  return Result.succeed(batches)
}
