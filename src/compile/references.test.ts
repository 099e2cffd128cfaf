import { assert, describe, it } from "@effect/vitest"
import { Arbitrary, Effect, Result } from "effect"
import { graphsOf } from "../main/configuration/offline.ts"
import { oneOf } from "../main/testing/arbitraries.ts"

const problemsOf = (text: string) =>
  Effect.map(Effect.result(graphsOf({ name: "config.yaml", text, env: {} })), (result) =>
    Result.isFailure(result)
      ? result.failure.problems.map(({ line, path, message }) => `${line} ${path}: ${message}`)
      : []
  )

/** Backends by name, each of them with a model that is guarded by another one, or by none. */
const guardedBy = (edges: Readonly<Record<string, string | undefined>>) => `
gateways: { default: { port: 8080 } }
routes: [{ backends: [{ backend: /${Object.keys(edges)[0]} }] }]
backends:
${Object.entries(edges)
  .map(
    ([name, by]) =>
      `- { name: ${name}, ai: { name: m, provider: { openAI: {} } }${
        by === undefined
          ? ""
          : `, policies: { ai: { promptGuard: { request: [{ webhook: { target: { backend: /${by} } } }] } } }`
      } }`
  )
  .join("\n")}
`

const place = (index: number) => `backends[${index}].policies.ai.promptGuard.request[0].webhook.target.backend`
const circle = (...indexes: ReadonlyArray<number>) =>
  `${indexes[0]! + 5} ${place(indexes[0]!)}: backends call one another in a circle: ${[...indexes, indexes[0]!].map(place).join(" -> ")}`
const tooFar = (...indexes: ReadonlyArray<number>) =>
  `${indexes.at(-1)! + 5} ${place(indexes.at(-1)!)}: expected at most 4 references from one backend to the next: ${indexes.map(place).join(" -> ")}`

/** One guard of the one model, with this target. */
const targeting = (target: string, more = "") => `
llm:
  port: 8080
  models: [{ name: "*", provider: mock }]
  guardrails: { request: [{ webhook: { target: ${target} } }] }
backends:
- { name: guards, host: "guard.example:80" }
${more}`

describe("references to backends", () => {
  it.effect("may lead in no circle: each is told once, with every place in it", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* problemsOf(guardedBy({ a: "a" })), [circle(0)])
      assert.deepStrictEqual(yield* problemsOf(guardedBy({ a: "b", b: "a" })), [circle(0, 1)])
      assert.deepStrictEqual(yield* problemsOf(guardedBy({ a: "b", b: "c", c: "a" })), [circle(0, 1, 2)])
      assert.deepStrictEqual(yield* problemsOf(guardedBy({ a: "c", b: "a", c: "b" })), [circle(0, 2, 1)])
      // The way into it is no part of it.
      assert.deepStrictEqual(yield* problemsOf(guardedBy({ a: "b", b: "c", c: "b" })), [circle(1, 2)])
    })
  )

  it.effect("lead four steps far, and no further", () =>
    Effect.gen(function* () {
      const four = { a: "b", b: "c", c: "d", d: "e", e: undefined }
      assert.deepStrictEqual(yield* problemsOf(guardedBy(four)), [])
      assert.deepStrictEqual(yield* problemsOf(guardedBy({ ...four, e: "f", f: undefined })), [tooFar(0, 1, 2, 3, 4)])
    })
  )

  it.effect("lead as far whatever was compiled before", () =>
    Effect.gen(function* () {
      // The end of the way is known when its beginning is reached, and the other way round.
      assert.deepStrictEqual(yield* problemsOf(guardedBy({ e: "f", d: "e", c: "d", b: "c", a: "b", f: undefined })), [
        tooFar(4, 3, 2, 1, 0)
      ])
      assert.deepStrictEqual(yield* problemsOf(guardedBy({ c: "d", d: "e", e: "f", f: undefined, b: "c", a: "b" })), [
        tooFar(5, 4, 0, 1, 2)
      ])
    })
  )

  it.effect("name a backend that there is", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* problemsOf(targeting("{ backend: /guards }")), [])
      assert.deepStrictEqual(yield* problemsOf(targeting("{ backend: /gaurds }")), [
        "5 llm.guardrails.request[0].webhook.target.backend: there is no backend /gaurds; did you mean /guards?"
      ])
      assert.deepStrictEqual(yield* problemsOf(targeting("{ backend: elsewhere/guards }")), [
        "5 llm.guardrails.request[0].webhook.target.backend: there is no backend elsewhere/guards"
      ])
      // Every object has such a member.
      assert.deepStrictEqual(yield* problemsOf(targeting("{ backend: /constructor }")), [
        "5 llm.guardrails.request[0].webhook.target.backend: there is no backend /constructor"
      ])
    })
  )

  it.effect("name a port of a service that there is", () =>
    Effect.gen(function* () {
      const services = "services: [{ hostname: guards, ports: [{ port: 80 }], endpoints: [{ address: 10.0.0.1 }] }]\n"
      const of = (reference: string) => problemsOf(`${targeting(`{ service: ${reference} }`)}${services}`)
      const at = "5 llm.guardrails.request[0].webhook.target.service"
      assert.deepStrictEqual(yield* of("{ name: default/guards, port: 80 }"), [])
      assert.deepStrictEqual(yield* of("{ name: default/guards, port: 81 }"), [
        `${at}: service default/guards has no port 81`
      ])
      assert.deepStrictEqual(yield* of("{ name: default/guard, port: 80 }"), [
        `${at}: there is no service default/guard; did you mean default/guards?`
      ])
    })
  )

  it.effect("take the policies of a connection beside them, and no others", () =>
    Effect.gen(function* () {
      const beside = (policies: string) => problemsOf(targeting(`{ host: "guard.example:80", policies: ${policies} }`))
      const at = "5 llm.guardrails.request[0].webhook.target.policies"
      assert.deepStrictEqual(
        yield* beside(
          "{ requestHeaderModifier: { set: { x: y } }, http: { requestTimeout: 1s }, tcp: { keepalives: {} } }"
        ),
        []
      )
      const [unknown = ""] = yield* beside("{ timeout: { requestTimeout: 1s } }")
      assert.include(unknown, `${at}.timeout: unknown key`)
      assert.deepStrictEqual(yield* beside("{ transformations: { request: { set: { x: '1' } } } }"), [])
      const [early = ""] = yield* beside("{ transformations: { request: { set: { x: response.code } } } }")
      assert.include(early, `${at}.transformations.request.set.x: invalid expression: response does not exist`)
      assert.deepStrictEqual(yield* beside("{ http: { version: HTTP/2 } }"), [])
      assert.deepStrictEqual(yield* beside("{ requestHeaderModifier: { set: { host: 'a b' } } }"), [
        `${at}.requestHeaderModifier.set.host: expected a host, or host:port`
      ])
      assert.deepStrictEqual(
        yield* problemsOf(targeting("{ backend: /guards, policies: { tcp: { connectTimeout: 1s } } }")),
        []
      )
    })
  )

  it.effect("what is wrong with the backend at their end is told at its place", () =>
    Effect.gen(function* () {
      const odd = `- { name: odd, host: "a:1", policies: { authorization: { rules: ["response.code == 200"] } } }`
      const found = yield* problemsOf(targeting("{ backend: /odd }", odd))
      assert.strictEqual(found.length, 1)
      assert.include(found[0], "8 backends[1].policies.authorization.rules[0]: ")
    })
  )

  const size = 9
  const guards = Arbitrary.array(oneOf(0, 1, 2, 3, 4, 5, 6, 7, 8), { minLength: 0, maxLength: 2 })
  const reached = { circle: 0, far: 0, fine: 0 }

  it.effect.prop(
    "are refused where they lead in a circle or too far, and nowhere else",
    [
      Arbitrary.all(Array.from({ length: size }, () => guards)),
      Arbitrary.all([oneOf(true, false), oneOf(true, false)])
    ],
    ([drawn, [forwards, backwards]]) =>
      Effect.gen(function* () {
        // Some of them without circles, in both orders of the file, and then by small steps.
        const edges = drawn.map((targets, from) =>
          targets
            .map((to) => (forwards ? from + 1 + (to % 2) : backwards ? from - 1 - (to % 2) : to))
            .filter((to) => to >= 0 && to < size)
        )
        const found = yield* problemsOf(`
gateways: { default: { port: 8080 } }
routes: [{ backends: [{ backend: /b0 }] }]
backends:
${edges
  .map((targets, from) => {
    const asked = targets.map((to) => `{ webhook: { target: { backend: /b${to} } } }`).join(", ")
    return `- { name: b${from}, ai: { name: m, provider: { openAI: {} } }, policies: { ai: { promptGuard: { request: [${asked}] } } } }`
  })
  .join("\n")}
`)
        const longest = longestOf(edges)
        reached[longest === Infinity ? "circle" : longest > 4 ? "far" : "fine"]++
        assert.strictEqual(found.length > 0, longest > 4, found.join("\n"))
        assert.strictEqual(
          found.some((line) => line.includes("in a circle")),
          longest === Infinity
        )
        for (const line of found) {
          // What is told is there, step by step.
          const steps = [
            ...line
              .split(": ")
              .at(-1)!
              .matchAll(/backends\[(\d+)\]\S*request\[(\d+)\]/g)
          ].map(([, from, guard]) => ({ from: Number(from), to: edges[Number(from)]![Number(guard)]! }))
          for (const [index, { to }] of steps.entries())
            if (index + 1 < steps.length) assert.strictEqual(steps[index + 1]!.from, to, line)
          if (line.includes("in a circle")) assert.deepStrictEqual(steps.at(-1), steps[0], line)
          else assert.strictEqual(steps.length, 5, line)
        }
      }),
    { arbitrary: { runs: 160 } }
  )

  it("came to every end", () => {
    for (const [end, times] of Object.entries(reached)) assert.isAbove(times, 2, end)
  })
})

/** The references in a row that there are at most. */
const longestOf = (edges: ReadonlyArray<ReadonlyArray<number>>): number => {
  const from = (node: number, before: ReadonlyArray<number>): number =>
    before.includes(node) ? Infinity : Math.max(0, ...edges[node]!.map((to) => 1 + from(to, [...before, node])))
  return Math.max(...edges.map((_, node) => from(node, [])))
}
