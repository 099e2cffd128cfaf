/** What does not compile: an order, or a terminal, that reads what nobody has written. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { registry, terminalsBehind } from "../src/pipeline/registry.ts"
import { type AnySlot, slot } from "../src/pipeline/stage.ts"
import { terminal } from "../src/pipeline/terminal.ts"
import { policies, terminals } from "./registry.ts"

const { orders } = policies

// @ts-expect-error authorization reads apiKey | basicAuth | jwt, written by no earlier policy
registry(policies.policies, { ...orders, gateway: ["authorization", "cors", "jwtAuth", "basicAuth", "apiKey"] })

// @ts-expect-error authorization reads apiKey, written by no earlier policy
registry(policies.policies, { ...orders, gateway: ["cors", "jwtAuth", "basicAuth", "authorization", "apiKey"] })

const nowhere = slot<string>()("nowhere")
const reader = terminal({
  name: "reader",
  schema: Schema.String,
  reads: [nowhere],
  writes: [],
  outcomes: [],
  maturity: { status: "alpha", untrusted: "none" },
  compile: () => Effect.fail([])
})

// @ts-expect-error one of them reads nowhere, written by no policy
terminalsBehind(policies, [reader])

terminal({
  ...reader,
  reads: [],
  compile: () =>
    Effect.succeed({
      type: "static",
      protocol: "http",
      target: "",
      call: (x) => {
        // @ts-expect-error a slot that is not declared cannot be read
        x.get(nowhere)
        return Effect.never
      }
    })
})

describe("the registry", () => {
  it("has policies that write each slot which a policy or a terminal reads", () => {
    const written = new Set(policies.policies.flatMap(({ writes }) => writes.map(({ name }) => name)))
    const readers = [...policies.policies, ...terminals]
    assert.isAbove(readers.filter(({ reads }) => reads.length > 0).length, 8)
    for (const { name, reads } of readers)
      for (const slot of reads) assert.isTrue(written.has(slot.name), `${name} reads ${slot.name}`)
  })

  it("leaves in an attempt at a backend what goes with it, and nothing that is meant for the request", () => {
    const left = new Set<string>()
    const leave = (name: string, writes: ReadonlyArray<AnySlot>) => {
      for (const slot of writes) {
        assert.strictEqual(slot.life, "attempt", `${name} leaves ${slot.name}, which another attempt would not have`)
        left.add(slot.name)
      }
    }
    for (const { name, sites, writes } of policies.policies)
      if (sites.some((at) => at === "backend")) leave(name, writes)
    for (const { name, writes } of terminals) leave(name, writes)
    for (const { name, writes } of policies.policies)
      for (const slot of writes)
        if (slot.life === "attempt") assert.isTrue(left.has(slot.name), `${name}: no attempt leaves ${slot.name}`)
  })
})
