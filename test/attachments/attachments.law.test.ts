/** Configurations with policies in many places: all of them assemble, and a request sees what the oracle says. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { whole } from "../../src/main/testing.ts"
import { attachments } from "../../src/routing/attach.ts"
import { merging } from "../../src/routing/merge.ts"
import type { Normalised, Policies } from "../../src/routing/normalised.ts"
import { reader } from "../../src/routing/read.ts"
import { schemas } from "../../stages/schemas.ts"
import { drawings, flavours } from "./drawing.ts"
import { inForce } from "./oracle.ts"
import { effectiveOf, textHeaders } from "./seen.ts"

const marksIn = (value: unknown): ReadonlyArray<string> => [...new Set(JSON.stringify(value).match(/\bm\d+\b/g))].sort()

/** The marks that a trace shows, of each kind. */
const shown = (effective: Readonly<Record<string, unknown>> = {}) =>
  Object.fromEntries(
    Object.entries(effective).flatMap(([key, policy]) => {
      const kind = key === "transformation" ? "transformations" : key
      return policy === null ? [] : [[kind, marksIn(policy)]]
    })
  )

describe("a request sees exactly the policies that hold where it comes by", () => {
  for (const flavour of ["web", "tools"] as const)
    it.effect.prop(
      flavour,
      [drawings(flavours[flavour])],
      ([{ file, policies, places, denials }]) =>
        Effect.gen(function* () {
          const text = file(policies)
          const { send } = yield* whole(text)
          for (const { port, host, path, place } of places) {
            const expected = inForce(policies, place)
            const asked = (headers: ReadonlyArray<readonly [string, string]>) => ({
              method: "GET",
              scheme: "http" as const,
              authority: host,
              path,
              headers,
              body: undefined,
              prefix: undefined
            })
            const played = yield* send(asked([]), { port })
            const { gateway, route, backend } = effectiveOf(played)
            assert.deepStrictEqual(
              { gateway: shown(gateway), route: shown(route), backend: shown(backend) },
              expected,
              text
            )

            const answer = textHeaders(played.headers)
            for (const site of ["gateway", "route", "backend"] as const) {
              const mark = expected[site]["transformations"]?.[0]
              assert.strictEqual(answer[`x-told-${site}`], mark, text)
              if (flavour === "web")
                assert.strictEqual(textHeaders(played.received!.headers)[`x-made-${site}`], mark, text)
            }
            for (const site of ["route", "backend"] as const) {
              assert.strictEqual(answer[`x-${site}`], expected[site]["responseHeaderModifier"]?.[0], text)
              // A relay for tools asks its servers itself, and not for every request.
              if (flavour === "web")
                assert.strictEqual(
                  textHeaders(played.received!.headers)[`x-${site}`],
                  expected[site]["requestHeaderModifier"]?.[0],
                  text
                )
            }
            const refusing = Object.values(expected).flatMap((phase) => phase["authorization"] ?? [])
            for (const mark of denials) {
              const { status } = yield* send(asked([["x-deny", mark]]), { port, watched: false })
              assert.strictEqual(status === 403, refusing.includes(mark), `${mark} ${host} ${path} ${text}`)
            }
          }
        }).pipe(Effect.scoped, Effect.orDie),
      { arbitrary: { runs: 20 } }
    )
})

const read = reader(schemas)
const merge = merging(schemas)

const normalised = (text: string): Normalised => {
  const result = read({ name: "file", text, env: {} })
  if (!result.ok) return assert.fail(`${result.problems.map(({ message }) => message).join("; ")} in ${text}`)
  return result.value.normalised
}

/** What is merged for the ways through a configuration. */
const merged = (config: Normalised, listenerName: string, names: ReadonlyArray<string>) => {
  const listener = config.binds.flatMap(({ listeners }) => listeners).find(({ name }) => name === listenerName)!
  const grouped = Object.values(config.routeGroups).flatMap(({ routes }) => routes)
  const chain = names.map((name) => [...listener.routes, ...grouped].find((route) => route.name === name)!)
  const reference = chain.at(-1)!.backends[0]!
  const backend = reference.target.kind === "backend" ? config.backends[reference.target.key]! : assert.fail()
  const attached = attachments(config)(listener)
  return {
    gateway: merge.gateway(attached.gateway),
    route: merge.route(attached.route(chain)),
    backend: merge.backend(attached.backend(chain, backend, reference))
  }
}

const marked = (policies: Policies) =>
  shown(Object.fromEntries(Object.values(policies).map(({ name, branches }) => [name, branches])))

it.prop(
  "what is merged is what the documentation says, also of policies without a stage, and whatever the order of the file",
  [drawings(flavours.unserved)],
  ([{ file, policies, places }]) => {
    const text = file(policies)
    const config = normalised(text)
    const reversed = normalised(file(policies.toReversed()))
    for (const { place, chain } of places) {
      const found = merged(config, place.listener.name, chain)
      const seen = { gateway: marked(found.gateway), route: marked(found.route), backend: marked(found.backend) }
      assert.deepStrictEqual(seen, inForce(policies, place), text)
      const { gateway, route, backend } = merged(reversed, place.listener.name, chain)
      assert.deepStrictEqual({ gateway: marked(gateway), route: marked(route), backend: marked(backend) }, seen, text)
    }
  },
  { arbitrary: { runs: 150 } }
)
