/** Laws that hold for every policy. A new policy is covered by being in the registry. */
import { describe, it } from "@effect/vitest"
import { policyLaws, registryLaws } from "../src/main/testing/policy-laws.ts"
import { policies } from "../stages/registry.ts"

describe("laws", () => {
  for (const policy of policies.policies)
    describe(policy.name, () => {
      for (const { name, check } of policyLaws(policy)) it.effect(name, () => check)
    })
  describe("all policies together", () => {
    for (const { name, check } of registryLaws(policies)) it.effect(name, () => check)
  })
})
