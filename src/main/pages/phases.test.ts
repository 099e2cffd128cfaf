/** The chart of the phases, and what a request that is watched comes by. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import type { TraceEvent } from "../../../spec/trace-events.ts"
import { whole } from "../testing/whole.ts"
import { phasesPage } from "./phases.ts"

/** What an event shows the request to have reached, in the words of the chart. */
const reached = ({ message }: TraceEvent): string | undefined => {
  switch (message.type) {
    case "policySelection":
      return `${message.phase} policies`
    case "routeSelection":
      return "route selection"
    case "backendCallStart":
      return "backend call"
    case "policy":
      return message.phase === "response" ? "response" : undefined
    default:
      return undefined
  }
}

describe("the chart of the phases", () => {
  it.effect("has the steps of a real request, in their order", () =>
    Effect.gen(function* () {
      const route = yield* whole(`
frontendPolicies: { networkAuthorization: { rules: ["true"] } }
gateways: { default: { port: 8080, cors: { allowOrigins: ["*"] } } }
routes:
  - policies: { responseHeaderModifier: { set: { x-a: b } } }
    backends: [{ host: "a.example:80", policies: { requestHeaderModifier: { set: { x-c: d } } } }]
`)
      const request = {
        method: "GET",
        scheme: "http",
        authority: "a.example",
        path: "/",
        headers: [],
        body: undefined
      } as const
      const { events } = yield* route.send({ ...request, prefix: undefined })
      const steps = [...new Set(events.map(reached).filter((step) => step !== undefined))]
      const drawn = [...phasesPage().matchAll(/\["(.*)"\]$/gm)].map(([, step]) => step!)
      assert.deepStrictEqual(
        steps,
        drawn.filter((step) => step !== "backend response")
      )
    }).pipe(Effect.scoped)
  )
})
