/** Generated configurations with policies in many places: all of them assemble, and a request sees what the oracle says. */
import { assert, it } from "@effect/vitest"
import { Arbitrary, Effect } from "effect"
import { flag, oneOf } from "../../src/main/testing/arbitraries.ts"
import { whole } from "../../src/main/testing.ts"
import { inForce, type Marks, type Place, type TargetedMark } from "./oracle.ts"
import { effectiveOf, textHeaders } from "./seen.ts"

const early = ["cors", "authorization"] as const
const onRoutes = ["cors", "authorization", "requestHeaderModifier", "responseHeaderModifier"] as const
const onBackends = ["authorization", "requestHeaderModifier", "responseHeaderModifier"] as const
/** Where every backend serves tools. */
const forTools = "mcpAuthorization"

type Kind = (typeof onRoutes)[number] | typeof forTools

/** Some policies of a place. */
const some = (kinds: ReadonlyArray<Kind>): Arbitrary.Arbitrary<ReadonlyArray<Kind>> =>
  Arbitrary.map(Arbitrary.all(kinds.map(() => oneOf(true, false, false))), (there) =>
    kinds.filter((_, index) => there[index])
  )

const routeNames = ["flat", "parent", "child", "deeper", "leaf"] as const
const backendNames = ["shared", "other"] as const
const targets: ReadonlyArray<TargetedMark["target"]> = [
  { kind: "gateway" },
  { kind: "gateway", port: 8080 },
  { kind: "gateway", port: 8081 },
  { kind: "gateway", listener: "default" },
  { kind: "gateway", listener: "one" },
  ...routeNames.flatMap((name) => [
    { kind: "route", name } as const,
    { kind: "route", name, rule: "read" } as const,
    { kind: "route", name, rule: "write" } as const
  ]),
  ...backendNames.map((name) => ({ kind: "backend", name }) as const)
]

const routeArbitrary = (tools: boolean) =>
  Arbitrary.all({
    rule: oneOf(undefined, "read", "write"),
    policies: some(tools ? [...onRoutes, forTools] : onRoutes),
    backend: oneOf(undefined, ...backendNames),
    reference: some(tools ? [...onBackends, forTools] : onBackends)
  })

const sketches = Arbitrary.flatMap(flag, (tools) =>
  Arbitrary.all({
    tools: oneOf(tools),
    listeners: Arbitrary.all({ default: some(early), one: some(early), two: some(early) }),
    routes: Arbitrary.all(Object.fromEntries(routeNames.map((name) => [name, routeArbitrary(tools)]))),
    backends: Arbitrary.all(
      Object.fromEntries(backendNames.map((name) => [name, some(tools ? [...onBackends, forTools] : onBackends)]))
    ),
    targeted: Arbitrary.array(
      Arbitrary.all({
        key: oneOf("m/a", "m/b", "m/c", "n/a", "n/b", "n/c", "n/d", "o/a", "o/b", "o/c"),
        target: oneOf(...targets),
        phase: oneOf<"route" | "gateway">("route", "route", "gateway"),
        kind: oneOf(0, 1, 2, 3, 4)
      }),
      { maxLength: 12 }
    )
  })
)
type Sketch = typeof sketches extends Arbitrary.Arbitrary<infer S> ? S : never

/** The configuration of a policy with a mark that requests can tell. `site` is where it runs. */
const configOf = (kind: string, mark: string, site: string): unknown => {
  switch (kind) {
    case "cors":
      return { allowOrigins: [`https://${mark}.example`] }
    case "authorization":
      return { rules: [{ deny: `request.headers["x-deny"] == "${mark}"` }] }
    case "mcpAuthorization":
      return { rules: [{ deny: `mcp.tool.name == "${mark}"` }] }
    default:
      return { set: { [`x-${site}`]: mark } }
  }
}

const written = (marks: Marks, site: string) =>
  Object.fromEntries(Object.entries(marks).map(([kind, mark]) => [kind, configOf(kind, mark, site)]))

const pathsOf = { flat: "/flat", child: "/parent/child", leaf: "/parent/deeper/leaf" } as const
const chains = [["flat"], ["parent", "child"], ["parent", "deeper", "leaf"]] as const

/** A sketch with marks: what the oracle reads, and the file. */
const drawn = ({ tools, listeners, routes, backends, targeted }: Sketch) => {
  let count = 0
  const denials: Array<string> = []
  const mark = (kind: Kind) => {
    const made = `m${++count}`
    if (kind === "authorization") denials.push(made)
    return made
  }
  const marked = (kinds: ReadonlyArray<Kind>): Marks => Object.fromEntries(kinds.map((kind) => [kind, mark(kind)]))
  const listenerMarks = Object.fromEntries(Object.entries(listeners).map(([name, kinds]) => [name, marked(kinds)]))
  const routeMarks = Object.fromEntries(
    Object.entries(routes).map(([name, { policies, reference, ...rest }]) => [
      name,
      { name, ...rest, policies: marked(policies), reference: marked(reference) }
    ])
  )
  const backendMarks = Object.fromEntries(Object.entries(backends).map(([name, kinds]) => [name, marked(kinds)]))
  const policies = [...new Map(targeted.map((each) => [each.key, each])).values()].map(
    ({ kind, target, ...each }): TargetedMark => {
      const phase = target.kind === "gateway" ? each.phase : "route"
      const kinds: ReadonlyArray<Kind> = phase === "gateway" ? early : target.kind === "backend" ? onBackends : onRoutes
      const possible = tools && phase === "route" ? [...kinds, forTools] : kinds
      const policy = possible[kind % possible.length]!
      return { ...each, phase, target, policy, mark: mark(policy) }
    }
  )

  const address = (host: string) =>
    tools ? { mcp: { targets: [{ name: "t", mcp: { host: `http://${host}:1/mcp` } }] } } : { host: `${host}:1` }
  const route = (name: string, more: object) => {
    const { rule, policies } = routeMarks[name]!
    return { name, ...(rule === undefined ? {} : { ruleName: rule }), policies: written(policies, "route"), ...more }
  }
  const leaf = (name: keyof typeof pathsOf) => {
    const { backend, reference } = routeMarks[name]!
    const to = backend === undefined ? address(name) : { backend: `/${backend}` }
    return route(name, {
      matches: [{ path: { exact: pathsOf[name] } }],
      backends: [{ ...to, policies: written(reference, "backend") }]
    })
  }
  const delegating = (name: string, group: string, pathPrefix: string) =>
    route(name, { matches: [{ path: { pathPrefix } }], backends: [{ routeGroup: group }] })
  const attached = { gateways: ["default", "edge"] }
  const edge = (name: string) => ({
    name,
    hostname: `${name}.example`,
    ...written(listenerMarks[name]!, "gateway")
  })
  const targetOf = (target: TargetedMark["target"]) => {
    switch (target.kind) {
      case "gateway": {
        const { port, listener } = target
        const part = port !== undefined ? { port } : listener !== undefined ? { listenerName: listener } : {}
        return { gateway: { gatewayName: "default", gatewayNamespace: "default", ...part } }
      }
      case "route": {
        const { name, rule } = target
        return { route: { name, namespace: "default", ...(rule === undefined ? {} : { ruleName: rule }) } }
      }
      case "backend":
        return { backend: { backend: { name: target.name, namespace: "" } } }
    }
  }
  const file = (ordered: ReadonlyArray<TargetedMark>) =>
    JSON.stringify({
      gateways: {
        default: { port: 8080, ...written(listenerMarks["default"]!, "gateway") },
        edge: { port: 8081, listeners: [edge("one"), edge("two")] }
      },
      routes: [
        { ...leaf("flat"), ...attached },
        { ...delegating("parent", "g1", "/parent"), ...attached }
      ],
      routeGroups: [
        { name: "g1", routes: [leaf("child"), delegating("deeper", "g2", "/parent/deeper")] },
        { name: "g2", routes: [leaf("leaf")] }
      ],
      backends: backendNames.map((name) => ({
        name,
        ...address(name),
        policies: written(backendMarks[name]!, "backend")
      })),
      policies: ordered.map(({ key, target, phase, policy, mark }) => {
        const [namespace, name] = key.split("/")
        const site = target.kind === "backend" ? "backend" : "route"
        return {
          name: { name, namespace },
          target: targetOf(target),
          phase,
          policy: { [policy]: configOf(policy, mark, site) }
        }
      })
    })

  const places = [
    { port: 8080, name: "default", host: "any.example" },
    { port: 8081, name: "one", host: "one.example" },
    { port: 8081, name: "two", host: "two.example" }
  ].flatMap(({ port, name, host }) =>
    chains.map((chain) => {
      const last = routeMarks[chain.at(-1)!]!
      const place: Place = {
        port,
        listener: { name, policies: listenerMarks[name]! },
        chain: chain.map((each) => routeMarks[each]!),
        backend: {
          name: last.backend,
          policies: last.backend === undefined ? {} : backendMarks[last.backend]!
        },
        reference: last.reference
      }
      return { port, host, path: pathsOf[last.name as keyof typeof pathsOf], place }
    })
  )
  return { file, policies, places, denials }
}

const marksIn = (value: unknown): ReadonlyArray<string> => [...new Set(JSON.stringify(value).match(/\bm\d+\b/g))].sort()

/** The marks that a trace shows, of each kind. */
const shown = (effective: Readonly<Record<string, unknown>> = {}) =>
  Object.fromEntries(
    Object.entries(effective).flatMap(([kind, policy]) => (policy === null ? [] : [[kind, marksIn(policy)]]))
  )

it.effect.prop(
  "a request sees exactly the policies that hold where it comes by",
  [sketches],
  ([sketch]) =>
    Effect.gen(function* () {
      const { file, policies, places, denials } = drawn(sketch)
      const [text, shuffled] = [file(policies), file(policies.toReversed())]
      const [{ send }, other] = [yield* whole(text), yield* whole(shuffled)]
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
        const again = yield* other.send(asked([]), { port })
        assert.deepStrictEqual(effectiveOf(again), effectiveOf(played), text)

        const answer = textHeaders(played.headers)
        for (const site of ["route", "backend"] as const) {
          assert.strictEqual(answer[`x-${site}`], expected[site]["responseHeaderModifier"]?.[0], text)
          if (!sketch.tools)
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
  { arbitrary: { runs: 40 } }
)
