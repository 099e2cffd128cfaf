import { assert, describe, it } from "@effect/vitest"
import {
  type BackendLevel,
  type FrontendLevel,
  type GatewayLevel,
  mergeBackendPolicies,
  mergeFrontendPolicies,
  mergeGatewayPolicies,
  mergeRoutePolicies,
  type Policies,
  type PolicyAttachment,
  type PolicyInForce,
  type RouteLevel
} from "./merge.ts"

const at = <L extends string>(
  level: L,
  policies: Policies,
  more: Partial<PolicyAttachment<L>> = {}
): PolicyAttachment<L> => ({ level, key: "", path: [level], policies, ...more })

const rules = (...texts: ReadonlyArray<string>) => ({ rules: texts })

const named = (name: string, inForce: ReadonlyArray<PolicyInForce>): PolicyInForce => {
  const found = inForce.find((policy) => policy.name === name)
  assert.isDefined(found, name)
  return found!
}

/** For each pair of levels: whichever is listed later wins, and its path says so, however the list is ordered. */
const matrix = <L extends string>(
  merge: (attachments: ReadonlyArray<PolicyAttachment<L>>) => ReadonlyArray<PolicyInForce>,
  levels: ReadonlyArray<L>
) => {
  for (const [index, wider] of levels.entries())
    for (const narrower of levels.slice(index + 1)) {
      const pair = [at(wider, { cors: wider, timeout: wider }), at(narrower, { cors: narrower, retry: narrower })]
      for (const attachments of [pair, pair.toReversed()])
        assert.deepStrictEqual(merge(attachments), [
          {
            name: "cors",
            config: narrower,
            path: [narrower, "cors"],
            sources: [{ config: narrower, path: [narrower, "cors"] }]
          },
          {
            name: "retry",
            config: narrower,
            path: [narrower, "retry"],
            sources: [{ config: narrower, path: [narrower, "retry"] }]
          },
          {
            name: "timeout",
            config: wider,
            path: [wider, "timeout"],
            sources: [{ config: wider, path: [wider, "timeout"] }]
          }
        ])
    }
}

const gateway: ReadonlyArray<GatewayLevel> = ["gateway", "listenerSet", "listenerSetSection", "listener"]
const route: ReadonlyArray<RouteLevel> = [...gateway, "service", "route", "rule", "inline"]
const backend: ReadonlyArray<BackendLevel> = [
  "connector",
  "gateway",
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
const frontend: ReadonlyArray<FrontendLevel> = [
  "gateway",
  "gatewayPort",
  "listenerSet",
  "listenerSetSection",
  "listener",
  "service"
]

describe("merge", () => {
  it("the more specific of two levels wins as a whole: gateway phase", () => matrix(mergeGatewayPolicies, gateway))
  it("the more specific of two levels wins as a whole: route phase", () => matrix(mergeRoutePolicies, route))
  it("the more specific of two levels wins as a whole: backend phase", () => matrix(mergeBackendPolicies, backend))
  it("the more specific of two levels wins as a whole: frontend", () => matrix(mergeFrontendPolicies, frontend))

  it("nothing attached is nothing in force, and an undefined policy is not attached", () => {
    assert.deepStrictEqual(mergeRoutePolicies([]), [])
    const merged = mergeRoutePolicies([at("gateway", { cors: 1 }), at("inline", { cors: undefined, retry: undefined })])
    assert.deepStrictEqual(
      merged.map(({ name, config }) => [name, config]),
      [["cors", 1]]
    )
  })

  it("no field of the loser survives", () => {
    const merged = mergeRoutePolicies([
      at("gateway", { timeout: { requestTimeout: "1s", backendRequestTimeout: "2s" } }),
      at("inline", { timeout: { requestTimeout: "5s" } })
    ])
    assert.deepStrictEqual(named("timeout", merged).config, { requestTimeout: "5s" })
  })

  it("the most specific buffer wins, like every other policy", () => {
    const merged = mergeRoutePolicies([at("inline", { buffer: "inline" }), at("gateway", { buffer: "gateway" })])
    assert.strictEqual(named("buffer", merged).config, "inline")
  })

  it("of two policies on one target the smaller key wins", () => {
    const twins = [at("route", { cors: "b" }, { key: "b" }), at("route", { cors: "a" }, { key: "a" })]
    for (const merge of [mergeRoutePolicies, mergeBackendPolicies])
      for (const order of [twins, twins.toReversed()] as ReadonlyArray<ReadonlyArray<PolicyAttachment<"route">>>)
        assert.strictEqual(named("cors", merge(order)).config, "a")
  })

  it("a delegated route is more specific than its parent, whatever is attached to either", () => {
    for (const parent of ["route", "rule", "inline"] as const)
      for (const child of ["route", "rule", "inline"] as const) {
        const merged = mergeRoutePolicies([
          at(child, { cors: "child" }, { hop: 1 }),
          at(parent, { cors: "parent" }, { hop: 0 })
        ])
        assert.strictEqual(named("cors", merged).config, "child", `${parent} ${child}`)
      }
    const targeted = mergeBackendPolicies([
      at("rule", { http: "parent" }, { hop: 0 }),
      at("route", { http: "child" }, { hop: 1 }),
      at("section", { http: "section" })
    ])
    assert.strictEqual(named("http", targeted).config, "child")
    assert.strictEqual(
      named("http", mergeBackendPolicies([at("rule", { http: 1 }, { hop: 7 }), at("backendInline", { http: 2 })]))
        .config,
      2
    )
  })

  describe("override", () => {
    it("locks a policy at its level, and only what it sets", () => {
      const merged = mergeRoutePolicies([
        at("gateway", { timeout: "gateway", retry: "gateway" }),
        at("listener", { timeout: "listener" }, { override: true }),
        at("route", { timeout: "route" }),
        at("inline", { timeout: "inline", retry: "inline" })
      ])
      assert.strictEqual(named("timeout", merged).config, "listener")
      assert.strictEqual(named("retry", merged).config, "inline")
    })

    it("of two the less specific one locks", () => {
      const merged = mergeRoutePolicies([
        at("listener", { timeout: "listener" }, { override: true }),
        at("gateway", { timeout: "gateway" }, { override: true })
      ])
      assert.strictEqual(named("timeout", merged).config, "gateway")
    })

    it("keeps more specific authorization rules out, but none of its own level", () => {
      const merged = mergeRoutePolicies([
        at("gateway", { authorization: rules("gateway") }),
        at("route", { authorization: rules("b") }, { key: "b", override: true }),
        at("route", { authorization: rules("a") }, { key: "a" }),
        at("inline", { authorization: rules("inline") })
      ])
      assert.deepStrictEqual(named("authorization", merged).config, rules("gateway", "b", "a"))
    })

    it("means nothing in the other phases", () => {
      const attachments = [at("gateway", { cors: "gateway" }, { override: true }), at("listener", { cors: "listener" })]
      const levels = attachments as ReadonlyArray<PolicyAttachment<"gateway" | "listener">>
      for (const merge of [mergeGatewayPolicies, mergeBackendPolicies, mergeFrontendPolicies])
        assert.strictEqual(named("cors", merge(levels)).config, "listener")
    })
  })

  describe("authorization", () => {
    it("is one rule set with the rules of all levels, each with the place that it comes from", () => {
      const merged = mergeRoutePolicies([
        at("inline", { authorization: rules("i1", "i2") }, { path: ["routes", 2, "policies"] }),
        at("gateway", { authorization: rules("g") }, { path: ["policies", 0, "policy"], key: "p" })
      ])
      assert.deepStrictEqual(merged, [
        {
          name: "authorization",
          config: rules("g", "i1", "i2"),
          path: ["routes", 2, "policies", "authorization"],
          sources: [
            { config: rules("g"), path: ["policies", 0, "policy", "authorization"] },
            { config: rules("i1", "i2"), path: ["routes", 2, "policies", "authorization"] }
          ]
        }
      ])
    })

    it("adds up over all levels of every phase", () => {
      const all = <L extends string>(levels: ReadonlyArray<L>, name: string) =>
        levels.map((level) => at(level, { [name]: rules(level) }))
      const expected = (levels: ReadonlyArray<string>) => rules(...levels)
      assert.deepStrictEqual(
        named("authorization", mergeGatewayPolicies(all(gateway, "authorization"))).config,
        expected(gateway)
      )
      assert.deepStrictEqual(
        named("authorization", mergeRoutePolicies(all(route, "authorization"))).config,
        expected(route)
      )
      for (const name of ["authorization", "mcpAuthorization"])
        assert.deepStrictEqual(named(name, mergeBackendPolicies(all(backend, name))).config, expected(backend))
      assert.deepStrictEqual(
        named("networkAuthorization", mergeFrontendPolicies(all(frontend, "networkAuthorization"))).config,
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
    const ai = named("ai", mergeBackendPolicies([at("backendRef", { ai: most }), at("gateway", { ai: least })]))
    assert.deepStrictEqual(ai.config, {
      defaults: { b: 2 },
      modelAliases: { fast: "x", slow: "y" },
      routes: { "/v2": "messages" },
      prompts: { append: [1] },
      overrides: { c: 3 }
    })
    assert.deepStrictEqual(ai.path, ["backendRef", "ai"])
    assert.lengthOf(ai.sources, 2)
  })

  it("an access log without an exporter exports where the wider one does", () => {
    const log = (...logs: ReadonlyArray<unknown>) =>
      named("accessLog", mergeFrontendPolicies(logs.map((accessLog, index) => at(frontend[index]!, { accessLog }))))
        .config
    assert.deepStrictEqual(log({ filter: "a", otlp: "o1" }, { add: { x: "1" } }), { add: { x: "1" }, otlp: "o1" })
    assert.deepStrictEqual(log({ otlp: "o1" }, { filter: "b", otlp: "o2" }), { filter: "b", otlp: "o2" })
    assert.deepStrictEqual(log({ filter: "a" }, { filter: "b" }), { filter: "b" })
  })
})
