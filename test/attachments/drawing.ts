/** Generated configurations with policies in many places, each with a mark of its own: as a file, and as the oracle reads them. */
import { Arbitrary } from "effect"
import type { PolicySpecs } from "../../spec/standalone/policies.ts"
import { oneOf } from "../../src/main/testing/arbitraries.ts"
import { schemas } from "../../stages/schemas.ts"
import type { Marks, Place, TargetedMark } from "./oracle.ts"

const early = ["cors", "authorization", "transformations"] as const
const common = ["authorization", "requestHeaderModifier", "responseHeaderModifier", "transformations"] as const

/** Which policies there are; only where every backend serves tools are there some for tools. */
export const flavours = {
  web: { onRoutes: ["cors", ...common], onBackends: common, targeted: [], tools: false },
  tools: {
    onRoutes: ["cors", ...common, "mcpAuthorization"],
    onBackends: [...common, "mcpAuthorization"],
    targeted: ["mcpAuthorization"],
    tools: true
  },
  /** With policies that are read, and have no stage. */
  unserved: {
    onRoutes: ["cors", ...common, "backendTLS"],
    onBackends: [...common, "backendTLS", "sessionAffinity"],
    targeted: ["backendTLS", "sessionAffinity"],
    tools: false
  }
} as const satisfies Readonly<Record<string, Flavour>>

interface Flavour {
  readonly onRoutes: ReadonlyArray<string>
  readonly onBackends: ReadonlyArray<string>
  /** What may be targeted at gateways and routes beside what may be written on routes. */
  readonly targeted: ReadonlyArray<string>
  readonly tools: boolean
}

/** Some policies of a place. */
const some = (kinds: ReadonlyArray<string>): Arbitrary.Arbitrary<ReadonlyArray<string>> =>
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
  { kind: "gateway", listener: "two", entry: "edge" },
  ...routeNames.flatMap((name) => [
    { kind: "route", name } as const,
    { kind: "route", name, rule: "read" } as const,
    { kind: "route", name, rule: "write" } as const
  ]),
  ...backendNames.map((name) => ({ kind: "backend", name }) as const)
]

const routeOf = ({ onRoutes, onBackends }: Flavour) =>
  Arbitrary.all({
    rule: oneOf(undefined, "read", "write"),
    policies: some(onRoutes),
    backend: oneOf(undefined, ...backendNames),
    reference: some(onBackends)
  })

const sketches = (flavour: Flavour) =>
  Arbitrary.all({
    listeners: Arbitrary.all({ default: some(early), one: some(early), two: some(early) }),
    routes: Arbitrary.all(Object.fromEntries(routeNames.map((name) => [name, routeOf(flavour)]))),
    backends: Arbitrary.all(Object.fromEntries(backendNames.map((name) => [name, some(flavour.onBackends)]))),
    targeted: Arbitrary.array(
      Arbitrary.all({
        key: Arbitrary.map(Arbitrary.all([oneOf("m", "n", "o"), oneOf(..."abcdefgh")]), (parts) => parts.join("/")),
        target: oneOf(...targets),
        phase: oneOf<"route" | "gateway">("route", "route", "gateway"),
        kind: oneOf(0, 1, 2, 3, 4, 5, 6)
      }),
      { minLength: 6, maxLength: 24 }
    )
  })
type Sketch = ReturnType<typeof sketches> extends Arbitrary.Arbitrary<infer S> ? S : never

const decides = (policy: string): boolean => {
  const { [policy]: spec }: PolicySpecs = schemas
  return spec?.decides !== undefined
}

/** The configuration of a policy with a mark that requests can tell. `site` is where it runs. */
const configOf = (kind: string, mark: string, site: string): unknown => {
  switch (kind) {
    case "cors":
      return { allowOrigins: [`https://${mark}.example`] }
    case "authorization":
      return { rules: [{ deny: `request.headers["x-deny"] == "${mark}"` }] }
    case "mcpAuthorization":
      return { rules: [{ deny: `mcp.tool.name == "${mark}"` }] }
    case "backendTLS":
      return { hostname: `${mark}.example` }
    case "transformations":
      return {
        request: { set: { [`x-made-${site}`]: `"${mark}"` } },
        response: { set: { [`x-told-${site}`]: `"${mark}"` } }
      }
    case "sessionAffinity":
      return { source: `"${mark}"` }
    default:
      return { set: { [`x-${site}`]: mark } }
  }
}

const written = (marks: Marks, site: string) =>
  Object.fromEntries(Object.entries(marks).map(([kind, mark]) => [kind, configOf(kind, mark, site)]))

const pathsOf = { flat: "/flat", child: "/parent/child", leaf: "/parent/deeper/leaf" } as const
const chains = [["flat"], ["parent", "child"], ["parent", "deeper", "leaf"]] as const

/** A sketch with marks: what the oracle reads, and the file. */
const drawn = (flavour: Flavour, { listeners, routes, backends, targeted }: Sketch) => {
  let count = 0
  const denials: Array<string> = []
  const mark = (kind: string) => {
    const made = `m${++count}`
    if (kind === "authorization") denials.push(made)
    return made
  }
  const marked = (kinds: ReadonlyArray<string>): Marks => Object.fromEntries(kinds.map((kind) => [kind, mark(kind)]))
  const listenerMarks = Object.fromEntries(Object.entries(listeners).map(([name, kinds]) => [name, marked(kinds)]))
  const routeMarks = Object.fromEntries(
    Object.entries(routes).map(([name, { policies, reference, ...rest }]) => [
      name,
      { name, ...rest, policies: marked(policies), reference: marked(reference) }
    ])
  )
  const backendMarks = Object.fromEntries(Object.entries(backends).map(([name, kinds]) => [name, marked(kinds)]))
  // Whatever decides about requests needs a target that is there.
  const isThere = ({ target, policy }: TargetedMark) =>
    target.kind !== "route" ||
    target.rule === undefined ||
    target.rule === routes[target.name]?.rule ||
    !decides(policy)
  const policies = [...new Map(targeted.map((each) => [each.key, each])).values()]
    .map(({ kind, target, ...each }): TargetedMark => {
      const phase = target.kind === "gateway" ? each.phase : "route"
      const possible: ReadonlyArray<string> =
        phase === "gateway"
          ? early
          : target.kind === "backend"
            ? flavour.onBackends
            : [...new Set([...flavour.onRoutes, ...flavour.targeted])]
      const policy = possible[kind % possible.length]!
      return { ...each, phase, target, policy, mark: mark(policy) }
    })
    .filter(isThere)

  const address = (host: string) =>
    flavour.tools ? { mcp: { targets: [{ name: "t", mcp: { host: `http://${host}:1/mcp` } }] } } : { host: `${host}:1` }
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
        const { port, listener, entry } = target
        const listenerName = entry === undefined ? listener : `${entry}/${listener}`
        const part = port !== undefined ? { port } : listenerName !== undefined ? { listenerName } : {}
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
        const site = target.kind === "backend" ? "backend" : phase
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
      const path = pathsOf[last.name as keyof typeof pathsOf]
      return { port, host, path, chain, place }
    })
  )
  return { file, policies, places, denials }
}

/** Configurations of a flavour: a file for any order of its targeted policies, and every way through it. */
export const drawings = (flavour: Flavour) => Arbitrary.map(sketches(flavour), (sketch) => drawn(flavour, sketch))
