/** Looks at everything that a start and the first requests depend on, and tells what is wrong with it. */
import { Effect } from "effect"
import { formatLine, type Problem } from "../../../spec/config/problem.ts"
import { type ConfigurationText, check } from "../../check/check.ts"
import { findings } from "../configuration/findings.ts"
import { type Ailment, examinations } from "./ailment.ts"
import { calleesOf, visit } from "./backends.ts"
import { certificateAilments } from "./certificates.ts"
import { clockAilments } from "./clock.ts"
import { commandAilments } from "./commands.ts"
import type { Machine } from "./machine.ts"
import { portAilments } from "./ports.ts"
import { cacheAilments, limitAilments, runtimeAilments } from "./process.ts"
import { variableAilments } from "./variables.ts"

const ofProblem = (problem: Problem): Ailment => ({
  about: problem.code === "undefined-variable" ? "variables" : "file",
  severity: problem.severity,
  unavailable: problem.code === "unavailable",
  what: formatLine({ ...problem, severity: "error" }),
  remedy:
    problem.code === "undefined-variable"
      ? "set it where the proxy is started, or give it a default in the file"
      : undefined
})

/** @param source without one, the machine and the process alone are looked at. */
export const examine = (
  machine: Machine,
  source: Omit<ConfigurationText, "env"> | undefined
): Effect.Effect<ReadonlyArray<Ailment>> =>
  Effect.gen(function* () {
    const found: Array<Ailment> = [...runtimeAilments(machine), ...limitAilments(machine), ...cacheAilments(machine)]
    if (source !== undefined) {
      const text = { ...source, env: machine.env }
      const problems = yield* findings(text)
      found.push(...problems.map(ofProblem), ...variableAilments(source.name, source.text, machine.env))
      const { config } = check(text)
      if (config !== undefined) {
        const destinations = yield* calleesOf(config, text)
        const visits = yield* Effect.forEach(destinations, (destination) => visit(destination, machine.now), {
          concurrency: 16
        })
        found.push(
          ...(yield* portAilments(config)),
          ...commandAilments(config, machine.env),
          // What cannot be read was told of the file.
          ...certificateAilments(config, source.folder, machine.now(), new Set(problems.map(({ path }) => path))),
          ...visits.flatMap(({ ailments }) => ailments),
          ...clockAilments(visits.flatMap(({ ahead }) => (ahead === undefined ? [] : [ahead])))
        )
      }
    }
    const rank = ({ about }: Ailment) => examinations.indexOf(about)
    return found.toSorted((a, b) => rank(a) - rank(b))
  })
