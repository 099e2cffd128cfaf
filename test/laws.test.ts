/** Laws that hold for every policy. A new policy is covered by being in the registry. */
import { assert, describe, it } from "@effect/vitest"
import type { PolicySpecs } from "../spec/standalone/policies.ts"
import { requestOf, stepsOf } from "../src/main/testing/case-file.ts"
import { outsideOf } from "../src/main/testing/run-case.ts"
import { type Example, policyLaws, registryLaws } from "../src/main/testing.ts"
import type { AnySlot } from "../src/pipeline/stage.ts"
import { policies } from "../stages/registry.ts"
import { schemas } from "../stages/schemas.ts"
import { foundCases, policyOf } from "./case.ts"

/** The cases of the policies, as configurations and requests that generation hardly meets. */
const examples = new Map<string, Array<Example>>()
for (const one of foundCases()) {
  const { config, site, outside, rejects } = one.file
  if (rejects !== undefined || config === undefined) continue
  const steps = stepsOf(one.file)
  const answers: NonNullable<typeof outside> = Object.assign({}, outside, ...steps.map((step) => step.outside))
  const example: Example = {
    config,
    site,
    requests: steps.map((step) => requestOf(step.request ?? {})),
    outside: ({ method, url }) => {
      const answer = answers[`${method} ${url}`]
      return answer && outsideOf(answer)
    }
  }
  examples.set(policyOf(one), [...(examples.get(policyOf(one)) ?? []), example])
}

const specs: PolicySpecs = schemas
const changesBodies = (policy: string, config: unknown) => specs[policy]?.changesBodies?.(config) === true

describe("laws", () => {
  for (const policy of policies.policies)
    describe(policy.name, () => {
      for (const { name, check } of policyLaws(policy, {
        examples: examples.get(policy.name),
        runs: 30,
        changesBodies
      }))
        it.effect(name, () => check)
    })
  describe("all policies together", () => {
    it("the slots that they share have names that tell them apart in graphs", () => {
      const slots = new Set<AnySlot>(policies.policies.flatMap(({ reads, writes }) => [...reads, ...writes]))
      const names = [...slots].map(({ name }) => name)
      assert.deepStrictEqual(names, [...new Set(names)])
      for (const name of names) assert.match(name, /^[a-z]\w*(\.\w+)*$/i)
    })
    for (const { name, check } of registryLaws(policies, { runs: 30, changesBodies })) it.effect(name, () => check)
  })
})
