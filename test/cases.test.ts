/** Runs every case of every policy and terminal, and holds that no policy is without. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { type CaseRun, runCase, runWholeCase } from "../src/main/testing.ts"
import type { AnyPolicy } from "../src/pipeline/stage.ts"
import { policies, terminals } from "../stages/registry.ts"
import { type FoundCase, foundCases, policyOf } from "./case.ts"

const byFolder = Map.groupBy(foundCases(), ({ folder }) => folder)

const runOf = (one: FoundCase) => {
  const { file } = one
  if (file.configuration !== undefined) return runWholeCase(file)
  const name = policyOf(one)
  const policy = policies.policies.find((policy) => policy.name === name)
  return policy === undefined ? Effect.die(`there is no policy ${name}`) : runCase(policy, file)
}

const runs = new Map<FoundCase, CaseRun>()

/** Runs a case, once. */
const run = (one: FoundCase) => {
  const known = runs.get(one)
  return known === undefined
    ? Effect.tap(runOf(one), (ran) => Effect.sync(() => runs.set(one, ran)))
    : Effect.succeed(known)
}

/** Runs at least five cases, one of which is about a configuration that is refused. */
const enough = (name: string, cases: ReadonlyArray<FoundCase>) =>
  Effect.gen(function* () {
    assert.isAtLeast(cases.length, 5, `${name} has too few cases`)
    const all = yield* Effect.forEach(cases, run)
    assert.isTrue(
      all.some(({ refused }) => refused),
      `no case of ${name} is about a configuration that is refused`
    )
    return all
  })

const words = { next: "next", respond: "responded", fail: "failed" } as const

/** What the cases of a policy must reach: each outcome that it declares, and to be forgiven where it can be. */
const dueOf = ({ outcomes, failOpen }: AnyPolicy) => [
  ...outcomes.map((outcome) => words[outcome]),
  ...(failOpen === undefined ? [] : ["failedOpen" as const])
]

const casesOf = (policy: string) => byFolder.get(policy.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)) ?? []

/** Two terminals share the folder of models: the cases of one of them say so in their names. */
const casesOfModels = (name: "ai" | "llm") =>
  casesOf("backendLlm").filter((one) => one.name.startsWith("ai-") === (name === "ai"))

const casesOfTerminals = {
  dynamic: casesOf("backendDynamic"),
  host: casesOf("backendHost"),
  mcp: casesOf("backendMcp"),
  llm: casesOfModels("llm"),
  ai: casesOfModels("ai"),
  service: casesOf("backendService")
} as const

describe("cases", () => {
  for (const [folder, cases] of byFolder)
    describe(folder, () => {
      for (const one of cases) it.effect(`${one.name}: ${one.file.shows}`, () => run(one))
    })

  describe("there are enough of them", () => {
    for (const policy of policies.policies)
      it.effect(policy.name, () =>
        Effect.map(enough(policy.name, casesOf(policy.name)), (all) => {
          const reached = new Set(all.flatMap(({ outcomes }) => [...(outcomes.get(policy.name) ?? [])]))
          for (const outcome of dueOf(policy))
            assert.isTrue(reached.has(outcome), `no case of ${policy.name} has a node that ${outcome}`)
        })
      )
    for (const terminal of terminals)
      it.effect(terminal.name, () =>
        Effect.map(enough(terminal.name, casesOfTerminals[terminal.name]), (all) => {
          const own = all.flatMap(({ outcomes }) => [...(outcomes.get(terminal.name) ?? [])])
          const calls = all.flatMap(({ calls }) => [...calls])
          // That it let a request pass is told by the call, whatever nodes were passed over or forgiven.
          const passing: ReadonlyArray<string> = ["next", "skipped", "failedOpen"]
          const reached = new Set([...own.filter((outcome) => !passing.includes(outcome)), ...calls])
          for (const outcome of terminal.outcomes)
            assert.isTrue(reached.has(words[outcome]), `no case of ${terminal.name} ${words[outcome]}`)
          assert.isAtMost(reached.size, terminal.outcomes.length, `${terminal.name} does what it does not declare`)
        })
      )
  })
})
