/** The places of guards: whatever lists endpoints have, each endpoint has its own guards, in its order, each with its own fail mode. */
import { assert, describe, it } from "@effect/vitest"
import { Arbitrary, Effect, Schema } from "effect"
import { guardPlaces } from "./guard-places.ts"
import type { Guard } from "./guards.ts"

const guardOf = (name: number, failureMode: "failOpen" | "failClosed"): Guard => ({
  path: ["guards", name],
  evaluate: () => Effect.succeed({ type: "pass" }),
  enforcement: { audit: false, failureMode }
})
const endpointOf = (request: ReadonlyArray<Guard>) => ({ guards: { request, response: [], streaming: false } })

const drawn = Arbitrary.array(
  Arbitrary.array(
    Arbitrary.schema(
      Schema.Struct({ name: Schema.Literals([0, 1, 2, 3]), failureMode: Schema.Literals(["failOpen", "failClosed"]) })
    ),
    { maxLength: 5 }
  ),
  { maxLength: 5 }
)

describe("the places of guards", () => {
  it.prop("hold each guard of each endpoint once, in its order and with its fail mode", { drawn }, ({ drawn }) => {
    const endpoints = drawn.map((list) => endpointOf(list.map(({ name, failureMode }) => guardOf(name, failureMode))))
    const places = guardPlaces(endpoints, "request")
    for (const endpoint of endpoints) {
      const own = places.flatMap(({ guards }) => guards.get(endpoint) ?? [])
      assert.deepStrictEqual(own, endpoint.guards.request)
    }
    for (const { failOpen, guards } of places)
      for (const { enforcement } of guards.values())
        assert.strictEqual(enforcement.failureMode, failOpen ? "failOpen" : "failClosed")
  })

  it("are as many as the longest list, where all lists are alike", () => {
    const shared = guardOf(0, "failClosed")
    const endpoints = Array.from({ length: 50 }, (_, i) => endpointOf([shared, guardOf(i + 1, "failClosed")]))
    const places = guardPlaces(endpoints, "request")
    assert.deepStrictEqual(
      places.map(({ path, guards }) => [path, guards.size]),
      [
        [["guards", 0], 50],
        [["guards"], 50]
      ]
    )
  })
})
