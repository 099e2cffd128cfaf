/** Everything there is to say of a configuration text before it is served: what is wrong, what is not available yet, what is doubtful. */
import { Effect } from "effect"
import { inOrder, type Problem } from "../../spec/config/problem.ts"
import { schemas } from "../../stages/schemas.ts"
import { lint } from "../routing/lint/lint.ts"
import { reader } from "../routing/read.ts"
import type { ConfigurationText } from "./check.ts"
import { idleSettings } from "./idle-settings.ts"
import { graphsOf } from "./offline.ts"

const read = reader(schemas)

/**
 * All problems, in the order of the text. What the language allows and this build does not have is a warning here, with the
 * code `unavailable`; a start refuses it.
 */
export const findings = (source: ConfigurationText): Effect.Effect<ReadonlyArray<Problem>> =>
  Effect.suspend(() => {
    const result = read(source)
    if (!result.ok) return Effect.succeed(result.problems)
    const { normalised, positions } = result.value
    const idle = idleSettings(normalised.settings, positions).map((complaint) => positions.locate(complaint))
    // What is written well may still not compile, or ask for what this build does not have.
    return Effect.match(graphsOf(source), {
      onFailure: ({ problems }) => problems.map(lenient),
      onSuccess: () => []
    }).pipe(Effect.map((compiled) => inOrder([...compiled, ...idle, ...lint(result.value)])))
  })

const lenient = (problem: Problem): Problem =>
  problem.code === "unavailable" ? { ...problem, severity: "warning" } : problem

/** Whether there is an error among them. */
export const isInvalid = (problems: ReadonlyArray<Problem>): boolean =>
  problems.some(({ severity }) => severity === "error")
