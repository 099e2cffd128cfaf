/** Everything there is to say of a configuration text before it is served: what is wrong, what is not available yet, what is doubtful. */
import { Effect } from "effect"
import { inOrder, type Problem } from "../../spec/config/problem.ts"
import { type ConfigurationText, check } from "./check.ts"
import { graphsOf } from "./offline.ts"

/**
 * All problems, in the order of the text. What the language allows and this build does not have is a warning here, with the
 * code `unavailable`; a start refuses it.
 */
export const findings = (source: ConfigurationText): Effect.Effect<ReadonlyArray<Problem>> =>
  Effect.suspend(() => {
    const { config, problems } = check(source)
    if (config === undefined) return Effect.succeed(problems)
    // What is written well may still not compile, or ask for what this build does not have.
    return Effect.match(graphsOf(source), {
      onFailure: (invalid) => inOrder([...invalid.problems.map(lenient), ...problems]),
      onSuccess: () => problems
    })
  })

const lenient = (problem: Problem): Problem =>
  problem.code === "unavailable" ? { ...problem, severity: "warning" } : problem

/** Whether there is an error among them. */
export const isInvalid = (problems: ReadonlyArray<Problem>): boolean =>
  problems.some(({ severity }) => severity === "error")
