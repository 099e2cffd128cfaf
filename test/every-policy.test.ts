/**
 * One file with every policy that this build serves, at every place where it may be written: it loads, and its canonical form means
 * the same. A policy that is new here has to be written there, too.
 */
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { parse, stringify } from "yaml"
import { format } from "../spec/config/format.ts"
import { shapeOf } from "../spec/config/shape.ts"
import { type PolicyPlace, type PolicySpecs, policyPlaces } from "../spec/standalone/policies.ts"
import { standalone } from "../spec/standalone.ts"
import { findings } from "../src/main/configuration/findings.ts"
import { graphsOf } from "../src/main/configuration/offline.ts"
import { reader } from "../src/routing/read.ts"
import { connections, policies } from "../stages/registry.ts"
import { schemas } from "../stages/schemas.ts"

const specs: PolicySpecs = schemas
const name = "every-policy.yaml"
const written = readFileSync(join(import.meta.dirname, name), "utf8")
const env = { USERS: "cy:{SHA}I7dElEdfX4dJgLdnbVEeI9iG2mQ=", KEY: "a-key" }

const read = reader(schemas)
const readText = (text: string) => {
  const result = read({ name, text, env })
  return result.ok ? result.value : assert.fail(result.problems.map(({ message }) => message).join("; "))
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)
const all = (value: unknown): ReadonlyArray<Readonly<Record<string, unknown>>> =>
  (Array.isArray(value) ? value : isObject(value) ? Object.values(value) : []).filter(isObject)
const own = (value: Readonly<Record<string, unknown>>, key = "policies") =>
  Object.keys(isObject(value[key]) ? value[key] : {})

/** The names that stand in each kind of place. */
const found = (): Readonly<Record<PolicyPlace, ReadonlySet<string>>> => {
  const file = readText(written).file as unknown as Readonly<Record<string, unknown>>
  const gateways = all(file["gateways"])
  const routes = all(file["routes"])
  const tcpRoutes = all(file["tcpRoutes"])
  return {
    frontend: new Set(own(file, "frontendPolicies")),
    gateway: new Set(gateways.flatMap((gateway) => Object.keys(gateway))),
    route: new Set(routes.flatMap((route) => own(route))),
    backend: new Set(routes.flatMap((route) => all(route["backends"]).flatMap((backend) => own(backend)))),
    tcpRoute: new Set(tcpRoutes.flatMap((route) => own(route))),
    tcpBackend: new Set(tcpRoutes.flatMap((route) => all(route["backends"]).flatMap((backend) => own(backend)))),
    llm: new Set(own(isObject(file["llm"]) ? file["llm"] : {})),
    ui: new Set()
  }
}

const shape = shapeOf(standalone(schemas).ast)
const canonical = (text: string): string => {
  const result = format(text, shape)
  return result.ok ? result.text : assert.fail(JSON.stringify(result.problems))
}

/** Plain data: what is compared is what a configuration says. */
const asData = (value: unknown): unknown => JSON.parse(JSON.stringify(value))

describe("a file with every policy at every place", () => {
  it("has all that this build serves, but for those of an interface that it does not serve", () => {
    const served = new Set<string>([...policies.policies, ...connections].map((policy) => policy.name))
    const places = found()
    const missing = policyPlaces
      .filter((place) => place !== "ui")
      .flatMap((place) =>
        Object.entries(specs)
          .filter(([policy, spec]) => served.has(policy) && spec.places.includes(place) && !places[place].has(policy))
          .map(([policy]) => `${policy} among policies of ${place}`)
      )
    assert.deepStrictEqual(missing, [], `write it in test/${name}`)
  })

  it.effect("loads, and what it serves can be drawn", () =>
    Effect.gen(function* () {
      const problems = yield* findings({ name, text: written, env })
      const severe = problems.filter(({ severity, code }) => severity === "error" || code === "unavailable")
      assert.deepStrictEqual(
        severe.map(({ line, message }) => `${line}: ${message}`),
        []
      )
      const graphs = yield* graphsOf({ name, text: written, env })
      assert.isAbove(graphs.length, 4)
    })
  )

  it("means the same in its canonical form", () => {
    // A file with anchors stays as it is: what stands where would mean something else.
    const plain = stringify(parse(written), { aliasDuplicateObjects: false })
    const formatted = canonical(plain)
    assert.notStrictEqual(formatted, plain)
    const meaning = (text: string) => asData(readText(text).normalised)
    assert.deepStrictEqual(meaning(plain), meaning(written))
    assert.deepStrictEqual(meaning(formatted), meaning(written))
    assert.strictEqual(canonical(formatted), formatted)
  })
})
