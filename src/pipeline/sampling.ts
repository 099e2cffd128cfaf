/** Which requests are traced for export: decided once per request, before anything of it is recorded. */
import { parseTraceparent, type TraceContext } from "../http/trace-context.ts"
import type { Exchange } from "./exchange.ts"

/** A request is sampled: as part of the client's trace, or as one of its own. */
export interface Sampled {
  readonly parent: TraceContext | undefined
}

export type Sampler = (exchange: Exchange) => Sampled | undefined

export const never: Sampler = () => undefined

/**
 * The sampler that OTEL_TRACES_SAMPLER and OTEL_TRACES_SAMPLER_ARG name (OpenTelemetry, SDK environment variables); its
 * default is that of the specification.
 * A client's sampled flag counts for the `parentbased_` ones, for at most `clientPerSecond` requests in a second.
 * @returns a text that says what is wrong with the name.
 */
export const samplerOf = (
  given: string | undefined,
  argument: string | undefined,
  random: () => number,
  clock: () => number,
  clientPerSecond: number
): Sampler | string => {
  const name = given || "parentbased_always_on"
  const based = /^(parentbased_)?(always_on|always_off|traceidratio)$/.exec(name)
  if (based === null)
    return `OTEL_TRACES_SAMPLER: expected always_on, always_off, traceidratio or one of them after parentbased_, got ${name}`
  const ratio =
    based[2] === "always_on" ? 1 : based[2] === "always_off" ? 0 : argument === undefined ? 1 : Number(argument)
  if (!(ratio >= 0 && ratio <= 1)) return `OTEL_TRACES_SAMPLER_ARG: expected a number from 0 to 1, got ${argument}`
  const parentBased = based[1] !== undefined
  let second = -1
  let left = 0
  const admitted = () => {
    const now = Math.floor(clock() / 1000)
    if (now !== second) {
      second = now
      left = clientPerSecond
    }
    return left > 0 && left-- > 0
  }
  return (x) => {
    const parent = parseTraceparent(x.request.headers.get("traceparent"))
    if (parentBased && parent !== undefined) return parent.sampled && admitted() ? { parent } : undefined
    return ratio === 1 || random() < ratio ? { parent } : undefined
  }
}
