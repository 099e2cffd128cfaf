import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import * as Prometheus from "../../layers/metrics/prometheus.ts"
import { standalone } from "../../spec/standalone.ts"
import { schemas } from "../../stages/schemas.ts"
import { standard } from "../main/configuration/distribution.ts"
import { defaultPortOptions, ports } from "../main/configuration/ports.ts"
import { type InvalidConfiguration, makeSnapshot } from "../main/configuration/snapshot.ts"
import { World } from "../main/testing/world.ts"
import { checkAside, checkAtStart } from "./aside.ts"
import { check, language } from "./check.ts"

const routes = (count: number, last = "") => ({
  name: "config.yaml",
  env: { KEY: "hush" },
  text: `gateways: { default: { port: 8080 } }
routes:
${Array.from(
  { length: count },
  (_, index) => `- name: r${index}
  matches: [{ path: { pathPrefix: /r${index} } }]
  policies: { requestHeaderModifier: { set: { x-key: $KEY } }, apiKey: { location: { header: { name: X-K${index} } }, keys: [{ key: k }] } }
  backends: [{ host: "127.0.0.1:80" }]
`
).join("")}${last}`
})

/** How often the loop came round before the effect was over. */
const rounds = <A>(effect: Effect.Effect<A>) =>
  Effect.gen(function* () {
    let count = 0
    let over = false
    const turn = () => {
      count++
      if (!over) setImmediate(turn)
    }
    setImmediate(turn)
    const value = yield* effect
    over = true
    return { value, count }
  })

describe("a configuration that is checked beside the requests", () => {
  it.live("is found to be what it is, and the loop goes on meanwhile", () =>
    Effect.gen(function* () {
      const source = routes(200)
      const { value: aside, count } = yield* rounds(checkAside(source, language))
      const here = check(source)
      assert.deepStrictEqual(aside.config, here.config)
      assert.deepStrictEqual(aside.hidden, here.hidden)
      assert.deepStrictEqual(aside.problems, here.problems)
      assert.isAbove(count, 10)
      for (const path of ["", "routes[7].name", "routes[199].backends[0].host", "routes[3].policies.cors", "nowhere"]) {
        assert.deepStrictEqual(aside.positions?.at(path), here.positions?.at(path))
        const complaint = { path, message: "wrong" }
        assert.deepStrictEqual(aside.positions?.locate(complaint), here.positions?.locate(complaint))
      }
    })
  )

  it.live("is told as it would be told here when it is wrong", () =>
    Effect.gen(function* () {
      const source = routes(200, "  policies: { cors: { allowOrigin: [] } }\n- {")
      const told = yield* checkAside(source, language)
      assert.isUndefined(told.config)
      assert.isAbove(told.problems.length, 0)
      assert.deepStrictEqual(told.problems, check(source).problems)
      const wrong = routes(200, "- { name: last, polices: {} }\n")
      assert.deepStrictEqual((yield* checkAside(wrong, language)).problems, check(wrong).problems)
    })
  )

  it.live("is told of with everything that shows only when the rest is compiled, at its place", () =>
    Effect.gen(function* () {
      const source = routes(
        200,
        "- 7\n- { policies: { authorization: { rules: ['request.nothing == 1'] } }, matches: [{ path: { regex: '(' } }] }\n"
      )
      const problemsOf = (read?: typeof checkAside) =>
        Effect.map(
          Effect.flip(makeSnapshot(standard, source, Math.random, read)),
          ({ problems }: InvalidConfiguration) => problems
        )
      const layer = Layer.provideMerge(ports(defaultPortOptions), Layer.merge(new World().layer, Prometheus.layer()))
      const [aside, here] = yield* Effect.provide(Effect.all([problemsOf(checkAside), problemsOf()]), layer)
      assert.deepStrictEqual(aside, here)
      assert.deepStrictEqual(
        aside.map(({ path, message }) => [path, message.split(/[:;]/)[0]]),
        [
          ["routes[200]", "expected an object, got a number"],
          ["routes[201].policies.authorization.rules[0]", "invalid expression"],
          ["routes[201].matches[0].path.regex", "not a regular expression in RE2 syntax"]
        ]
      )
    })
  )

  it.live("is checked at once when it is small, or in a language that other threads do not know", () =>
    Effect.gen(function* () {
      assert.strictEqual((yield* rounds(checkAside(routes(2), language))).count, 0)
      // Nobody waits for the loop at the start, and a thread takes longer than the text.
      assert.strictEqual((yield* rounds(checkAtStart(routes(100), language))).count, 0)
      assert.isAbove((yield* rounds(checkAtStart(routes(330), language))).count, 10)
      const foreign = { specs: schemas, schema: standalone(schemas) }
      assert.strictEqual((yield* rounds(checkAside(routes(200), foreign))).count, 0)
    })
  )
})
