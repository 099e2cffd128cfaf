import { assert, describe, it } from "@effect/vitest"
import { schemas } from "../../stages/schemas.ts"
import {
  type BackendLevel,
  type FrontendLevel,
  type GatewayLevel,
  merging,
  type PolicyAttachment,
  type RouteLevel
} from "./merge.ts"
import { type AttachedPolicy, type Policies, type PolicyBranch, writtenAt } from "./normalised.ts"

const merges = merging(schemas)

/** Plain policies by name, written at a place. */
const plain = (place: string, configs: Readonly<Record<string, unknown>>): Policies =>
  Object.fromEntries(
    Object.entries(configs).map(([name, config]) => {
      const path = [place, name]
      return [name, { name, path, branches: [{ condition: undefined, config, path }] }]
    })
  )

const at = <L extends string>(
  level: L,
  configs: Readonly<Record<string, unknown>>,
  { place = level, ...more }: Partial<PolicyAttachment<L>> & { readonly place?: string } = {}
): PolicyAttachment<L> => ({ level, key: "", policies: plain(place, configs), ...more })

const rules = (...texts: ReadonlyArray<string>) => ({ rules: texts })

const named = (name: string, inForce: Policies): AttachedPolicy => {
  const found = inForce[name]
  assert.isDefined(found, name)
  return found!
}

/** The configuration of a plain policy. */
const configOf = (name: string, inForce: Policies): unknown => {
  const { branches } = named(name, inForce)
  assert.lengthOf(branches, 1)
  return branches[0]!.config
}

/** For each pair of levels: whichever is listed later wins, and its path says so, however the list is ordered. */
const matrix = <L extends string>(
  merge: (attachments: ReadonlyArray<PolicyAttachment<L>>) => Policies,
  levels: ReadonlyArray<L>
) => {
  for (const [index, wider] of levels.entries())
    for (const narrower of levels.slice(index + 1)) {
      const pair = [at(wider, { cors: wider, timeout: wider }), at(narrower, { cors: narrower, retry: narrower })]
      for (const attachments of [pair, pair.toReversed()])
        assert.deepStrictEqual(merge(attachments), {
          ...plain(narrower, { cors: narrower, retry: narrower }),
          ...plain(wider, { timeout: wider })
        })
    }
}

const gateway: ReadonlyArray<GatewayLevel> = ["gateway", "gatewayPort", "listenerSet", "listenerSetSection", "listener"]
const route: ReadonlyArray<RouteLevel> = [...gateway, "service", "route", "rule", "inline"]
const backend: ReadonlyArray<BackendLevel> = [
  "connector",
  "gateway",
  "gatewayPort",
  "listener",
  "backend",
  "section",
  "route",
  "rule",
  "backendInline",
  "routeInline",
  "backendRef",
  "provider"
]
const frontend: ReadonlyArray<FrontendLevel> = [...gateway, "service"]

describe("merge", () => {
  it("the more specific of two levels wins as a whole: gateway phase", () => matrix(merges.gateway, gateway))
  it("the more specific of two levels wins as a whole: route phase", () => matrix(merges.route, route))
  it("the more specific of two levels wins as a whole: backend phase", () => matrix(merges.backend, backend))
  it("the more specific of two levels wins as a whole: frontend", () => matrix(merges.frontend, frontend))

  it("nothing attached is nothing in force", () => {
    assert.deepStrictEqual(merges.route([]), {})
    assert.deepStrictEqual(merges.route([at("gateway", {})]), {})
  })

  it("no field of the loser survives", () => {
    const merged = merges.route([
      at("gateway", { timeout: { requestTimeout: "1s", backendRequestTimeout: "2s" } }),
      at("inline", { timeout: { requestTimeout: "5s" } })
    ])
    assert.deepStrictEqual(configOf("timeout", merged), { requestTimeout: "5s" })
  })

  it("the most specific buffer wins, like every other policy", () => {
    const merged = merges.route([at("inline", { buffer: "inline" }), at("gateway", { buffer: "gateway" })])
    assert.strictEqual(configOf("buffer", merged), "inline")
  })

  it("of two policies on one target the smaller key wins", () => {
    const twins = [at("route", { cors: "b" }, { key: "b" }), at("route", { cors: "a" }, { key: "a" })]
    for (const merge of [merges.route, merges.backend])
      for (const order of [twins, twins.toReversed()] as ReadonlyArray<ReadonlyArray<PolicyAttachment<"route">>>)
        assert.strictEqual(configOf("cors", merge(order)), "a")
  })

  it("a delegated route is more specific than its parent, whatever is attached to either", () => {
    for (const parent of ["route", "rule", "inline"] as const)
      for (const child of ["route", "rule", "inline"] as const) {
        const merged = merges.route([
          at(child, { cors: "child" }, { hop: 1 }),
          at(parent, { cors: "parent" }, { hop: 0 })
        ])
        assert.strictEqual(configOf("cors", merged), "child", `${parent} ${child}`)
      }
    const targeted = merges.backend([
      at("rule", { http: "parent" }, { hop: 0 }),
      at("route", { http: "child" }, { hop: 1 }),
      at("section", { http: "section" })
    ])
    assert.strictEqual(configOf("http", targeted), "child")
    assert.strictEqual(
      configOf("http", merges.backend([at("rule", { http: 1 }, { hop: 7 }), at("backendInline", { http: 2 })])),
      2
    )
  })

  describe("override", () => {
    it("locks a policy at its level, and only what it sets", () => {
      const merged = merges.route([
        at("gateway", { timeout: "gateway", retry: "gateway" }),
        at("listener", { timeout: "listener" }, { override: true }),
        at("route", { timeout: "route" }),
        at("inline", { timeout: "inline", retry: "inline" })
      ])
      assert.strictEqual(configOf("timeout", merged), "listener")
      assert.strictEqual(configOf("retry", merged), "inline")
    })

    it("of two the less specific one locks", () => {
      const merged = merges.route([
        at("listener", { timeout: "listener" }, { override: true }),
        at("gateway", { timeout: "gateway" }, { override: true })
      ])
      assert.strictEqual(configOf("timeout", merged), "gateway")
    })

    it("keeps more specific authorization rules out, but none of its own level", () => {
      const merged = merges.route([
        at("gateway", { authorization: rules("gateway") }),
        at("route", { authorization: rules("b") }, { key: "b", override: true }),
        at("route", { authorization: rules("a") }, { key: "a" }),
        at("inline", { authorization: rules("inline") })
      ])
      assert.deepStrictEqual(configOf("authorization", merged), rules("gateway", "b", "a"))
    })

    it("means nothing in the other phases", () => {
      const attachments = [at("gateway", { cors: "gateway" }, { override: true }), at("listener", { cors: "listener" })]
      const levels = attachments as ReadonlyArray<PolicyAttachment<"gateway" | "listener">>
      for (const merge of [merges.gateway, merges.backend, merges.frontend])
        assert.strictEqual(configOf("cors", merge(levels)), "listener")
    })
  })

  describe("authorization", () => {
    it("is one rule set with the rules of all levels, each with the place that it comes from", () => {
      const merged = named(
        "authorization",
        merges.route([
          at("inline", { authorization: rules("i1", "i2") }, { place: "routes" }),
          at("gateway", { authorization: rules("g") }, { place: "policies", key: "p" })
        ])
      )
      assert.deepStrictEqual(merged.path, ["routes", "authorization"])
      assert.lengthOf(merged.branches, 1)
      const branch = merged.branches[0]!
      assert.deepStrictEqual(branch.config, rules("g", "i1", "i2"))
      assert.deepStrictEqual(
        [0, 1, 2].map((index) => writtenAt(branch, ["rules", index, "allow"]).join(".")),
        [
          "policies.authorization.rules.0.allow",
          "routes.authorization.rules.0.allow",
          "routes.authorization.rules.1.allow"
        ]
      )
    })

    it("adds what the conditions of each level choose", () => {
      const conditional = (place: string, ...conditions: ReadonlyArray<string | undefined>): Policies => {
        const path = [place, "authorization"]
        const branches = conditions.map(
          (expression, index): PolicyBranch => ({
            condition: expression === undefined ? undefined : { expression, path: [place, index] },
            config: rules(`${place}${index}`),
            path
          })
        )
        return { authorization: { name: "authorization", path, branches } }
      }
      const merged = merges.route([
        { level: "inline", hop: 0, key: "", policies: conditional("a", "x", undefined) },
        { level: "inline", hop: 1, key: "", policies: conditional("b", "y") }
      ])
      const shown = named("authorization", merged).branches.map(({ condition, config }) => [
        condition?.expression,
        (config as { readonly rules: ReadonlyArray<string> }).rules
      ])
      // Of the parent one always applies, of the child perhaps none.
      assert.deepStrictEqual(shown, [
        ["(x) && (y)", ["a0", "b0"]],
        ["x", ["a0"]],
        ["y", ["a1", "b0"]],
        [undefined, ["a1"]]
      ])
      const [both] = named("authorization", merged).branches
      assert.deepStrictEqual(both!.condition!.path, ["b", 0])
    })

    it("does not apply where no condition of any level holds", () => {
      const path = ["p", "authorization"]
      const one = (level: RouteLevel, expression: string): PolicyAttachment<RouteLevel> => ({
        level,
        key: "",
        policies: {
          authorization: {
            name: "authorization",
            path,
            branches: [{ condition: { expression, path }, config: rules(expression), path }]
          }
        }
      })
      const merged = merges.route([one("gateway", "x"), one("inline", "y")])
      assert.deepStrictEqual(
        named("authorization", merged).branches.map(({ condition }) => condition?.expression),
        ["(x) && (y)", "x", "y"]
      )
    })

    it("adds up over all levels of every phase", () => {
      const all = <L extends string>(levels: ReadonlyArray<L>, name: string) =>
        levels.map((level) => at(level, { [name]: rules(level) }))
      const expected = (levels: ReadonlyArray<string>) => rules(...levels)
      assert.deepStrictEqual(
        configOf("authorization", merges.gateway(all(gateway, "authorization"))),
        expected(gateway)
      )
      assert.deepStrictEqual(configOf("authorization", merges.route(all(route, "authorization"))), expected(route))
      for (const name of ["authorization", "mcpAuthorization"])
        assert.deepStrictEqual(configOf(name, merges.backend(all(backend, name))), expected(backend))
      assert.deepStrictEqual(
        configOf("networkAuthorization", merges.frontend(all(frontend, "networkAuthorization"))),
        expected(frontend)
      )
    })
  })

  it("ai merges by field: the most specific one that has something there, maps and lists as a whole", () => {
    const least = {
      defaults: { a: 1 },
      modelAliases: { fast: "x", slow: "y" },
      routes: { "/v1": "detect" },
      prompts: { append: [1] }
    }
    const most = {
      defaults: { b: 2 },
      modelAliases: {},
      routes: { "/v2": "messages" },
      overrides: { c: 3 },
      prompts: undefined
    }
    const ai = named("ai", merges.backend([at("backendRef", { ai: most }), at("gateway", { ai: least })]))
    assert.deepStrictEqual(ai.branches[0]!.config, {
      defaults: { b: 2 },
      modelAliases: { fast: "x", slow: "y" },
      routes: { "/v2": "messages" },
      prompts: { append: [1] },
      overrides: { c: 3 }
    })
    assert.deepStrictEqual(ai.path, ["backendRef", "ai"])
    assert.deepStrictEqual(writtenAt(ai.branches[0]!, ["prompts", "append"]), ["gateway", "ai", "prompts", "append"])
    assert.deepStrictEqual(writtenAt(ai.branches[0]!, ["defaults", "b"]), ["backendRef", "ai", "defaults", "b"])
  })

  it("an access log without an exporter exports where the wider one does", () => {
    const log = (...logs: ReadonlyArray<unknown>) =>
      configOf("accessLog", merges.frontend(logs.map((accessLog, index) => at(frontend[index]!, { accessLog }))))
    assert.deepStrictEqual(log({ filter: "a", otlp: "o1" }, { add: { x: "1" } }), { add: { x: "1" }, otlp: "o1" })
    assert.deepStrictEqual(log({ otlp: "o1" }, { filter: "b", otlp: "o2" }), { filter: "b", otlp: "o2" })
    assert.deepStrictEqual(log({ filter: "a" }, { filter: "b" }), { filter: "b" })
  })
})
