/** Everything there is to say of a configuration text before it is served: what is wrong, what is not available yet, what is doubtful. */
import { Effect } from "effect"
import { inOrder, type Problem } from "../../../spec/config/problem.ts"
import type { ConfigurationText } from "../../check/check.ts"
import { cannotServe } from "../exit-codes.ts"
import { compiled } from "./offline.ts"
import type { InvalidConfiguration, Snapshot } from "./snapshot.ts"

/**
 * All problems, in the order of the text. What the language allows and this build does not have is a warning here, with the
 * code `unavailable`; a start refuses it.
 */
export const findings = (source: ConfigurationText): Effect.Effect<ReadonlyArray<Problem>> =>
  findingsOf(compiled(source))

/** The same, of a configuration that is being compiled. */
export const findingsOf = <R>(
  compiling: Effect.Effect<Snapshot, InvalidConfiguration, R>
): Effect.Effect<ReadonlyArray<Problem>, never, R> =>
  Effect.match(compiling, {
    onFailure: ({ problems, warnings = [] }) => inOrder([...problems.map(lenient), ...warnings]),
    onSuccess: ({ warnings }) => warnings
  })

const lenient = (problem: Problem): Problem =>
  problem.code === "unavailable" ? { ...problem, severity: "warning" } : problem

/** How a check ends: what it says at last, if the problems have not said it all, and its exit code. */
export const verdict = (
  problems: ReadonlyArray<Problem>
): { readonly said: string | undefined; readonly exitCode: number } => {
  if (problems.some(({ severity }) => severity === "error")) return { said: undefined, exitCode: 1 }
  const lacking = problems.filter(({ code }) => code === "unavailable").length
  return lacking === 0
    ? { said: "Configuration is valid!", exitCode: 0 }
    : {
        said: `valid, but this build cannot serve ${lacking} ${lacking === 1 ? "thing" : "things"}`,
        exitCode: cannotServe
      }
}
