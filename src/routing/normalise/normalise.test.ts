import { readFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { parse, stringify } from "yaml"
import { formatLine } from "../../../spec/config/problem.ts"
import type { ProviderOverrides } from "../../../spec/models.ts"
import { type Address, formatAddress } from "../../../spec/target.ts"
import { schemas } from "../../../stages/schemas.ts"
import type { Backend, BackendReference, Destination, Normalised, Policies, Route } from "../normalised.ts"
import { reader } from "../read.ts"

interface Case {
  readonly title: string
  readonly config: unknown
  readonly expanded: unknown
  readonly backends: unknown
  readonly matches?: unknown
}

const read = reader(schemas)
const readCase = (config: unknown) => read({ name: "config.yaml", text: stringify(config), env: {} })

const names = (policies: Policies) =>
  Object.values(policies).map(({ name, branches }) =>
    branches[0]?.path.includes("conditional") ? `${name}?${branches.length}` : name
  )

const reference = ({ target, weight }: BackendReference) => {
  const shown = { backend: () => (target as { key: string }).key, invalid: () => "invalid" }
  const text =
    target.kind === "service"
      ? `service ${target.name}:${target.port}`
      : target.kind === "routeGroup"
        ? `group ${target.name}`
        : shown[target.kind]()
  return `${text} x${weight}`
}

const http = ({ key, policies, backendPolicies, backends }: Route) => {
  const all = [...names(policies), ...names(backendPolicies).map((name) => `+${name}`)]
  return [`${key} [${all.join(" ")}]`, backends.map(reference)]
}

const summary = ({ binds, routeGroups }: Normalised) =>
  Object.fromEntries([
    ...binds.map(({ key, protocol, listeners }) => [
      `${key} ${protocol}`,
      Object.fromEntries(
        listeners.map(({ key, hostname, protocol, policies, routes, tcpRoutes }) => [
          [key, hostname, protocol, `[${names(policies).join(" ")}]`].filter((part) => part !== "").join(" "),
          Object.fromEntries([
            ...routes.map(http),
            ...tcpRoutes.map(({ key, backends }) => [`tcp ${key}`, backends.map(reference)])
          ])
        ])
      )
    ]),
    ...Object.values(routeGroups).map(({ name, routes }) => [`group ${name}`, Object.fromEntries(routes.map(http))])
  ])

const address = ({ hostOverride, pathPrefix = "" }: ProviderOverrides) =>
  hostOverride === undefined ? "" : ` ${formatAddress({ ...hostOverride, tls: false } as Address)}${pathPrefix}`

const inside = ({ kind, config }: Destination): string => {
  if (kind === "ai")
    return `: ${config.groups
      .flatMap(({ providers }) => providers)
      .map((each) => `${each.name} ${each.provider.kind}${address(each)} [${names(each.policies).join(" ")}]`)
      .join(", ")}`
  if (kind !== "llm") return ""
  const models = config.models.map(
    (each) => `${each.key} ${each.provider.kind}${address(each)} [${names(each.policies).join(" ")}]`
  )
  const virtual = config.virtualModels.map(
    ({ name, routing }) => `${name} ${routing.kind} ${routing.targets.map(({ model }) => model).join(" ")}`
  )
  return `: ${models.join(", ")}${virtual.length > 0 ? `; ${virtual.join(", ")}` : ""}`
}

const backendSummary = (backends: Readonly<Record<string, Backend>>) =>
  Object.fromEntries(
    Object.values(backends).map(({ key, destination, policies }) => [
      key,
      `${destination.kind} [${names(policies).join(" ")}]${inside(destination)}`
    ])
  )

const matchSummary = ({ binds }: Normalised) =>
  Object.fromEntries(
    binds
      .flatMap(({ listeners }) => listeners.flatMap(({ routes }) => routes))
      .map(({ key, matches }) => [
        key,
        matches.map(({ path }) => (path.exact !== undefined ? `exact ${path.exact}` : `prefix ${path.pathPrefix}`))
      ])
  )

describe("normalised form", () => {
  const cases: ReadonlyArray<Case> = parse(readFileSync(join(import.meta.dirname, "expansion.yaml"), "utf8"))

  for (const { title, config, expanded, backends, matches } of cases)
    it(title, () => {
      const result = readCase(config)
      if (!result.ok) return assert.fail(result.problems.map(formatLine).join("\n"))
      assert.deepStrictEqual(summary(result.value.normalised), expanded)
      assert.deepStrictEqual(backendSummary(result.value.normalised.backends), backends)
      if (matches !== undefined) assert.deepStrictEqual(matchSummary(result.value.normalised), matches)
    })

  it("every part knows where it was written", () => {
    for (const { config } of cases) {
      const result = readCase(config)
      if (!result.ok) return assert.fail(result.problems.map(formatLine).join("\n"))
      const { normalised, positions } = result.value
      const exists = (path: ReadonlyArray<string | number>) => {
        let at: unknown = config
        for (const key of path) at = (at as Record<string, unknown> | undefined)?.[key]
        assert.isDefined(at, path.join("."))
        assert.isAbove(positions.at(path).line, 0)
      }
      const policies = (all: Policies) => {
        for (const { path, branches } of Object.values(all))
          for (const at of [path, ...branches.map((branch) => branch.path)]) exists(at)
      }
      for (const bind of normalised.binds) {
        exists(bind.path)
        for (const listener of bind.listeners) {
          exists(listener.path)
          policies(listener.policies)
          for (const route of listener.routes) {
            exists(route.path)
            policies(route.policies)
            for (const backend of route.backends) exists(backend.path)
          }
        }
      }
      for (const backend of Object.values(normalised.backends)) policies(backend.policies)
    }
  })
})

describe("what the parts of a file demand of one another", () => {
  const refused: ReadonlyArray<readonly [config: string, ...lines: ReadonlyArray<string>]> = [
    [
      "gateways:\n  a: {port: 80}\n  b: {port: 80}",
      "3:6: gateways.b: port 80 is configured by both gateways.a and gateways.b; binds, llm, and mcp must use unique ports"
    ],
    [
      "gateways: {a: {port: 80, listeners: [{}], protocol: HTTP, cors: {}}}",
      "1:53: gateways.a.protocol: a gateway with listeners cannot have protocol, tls or policies of its own",
      "1:65: gateways.a.cors: a gateway with listeners cannot have protocol, tls or policies of its own"
    ],
    [
      "gateways: {a: {port: 80, listeners: [{}, {name: t, protocol: TCP}]}, b: {port: 81, listeners: [{}, {name: t, protocol: TLS}]}}",
      "1:15: gateways.a: listeners of one port cannot mix HTTP with TCP",
      "1:73: gateways.b: listeners of one port cannot mix TLS with plaintext"
    ],
    [
      "gateways: {a: {port: 80, listeners: [{name: x}, {name: x}]}}",
      "1:49: gateways.a.listeners[1]: listener x is defined twice"
    ],
    [
      "gateways: {a: {port: 80, protocol: TCP, tls: {cert: c, key: k}}, b: {port: 81, protocol: HTTPS}}",
      "1:46: gateways.a.tls: protocol TCP cannot be used with tls",
      "1:69: gateways.b: protocol HTTPS requires tls"
    ],
    ["binds: [{listeners: []}]", "1:9: binds[0]: a bind without a port must set mode: internal"],
    [
      "binds: [{mode: internal, listeners: []}, {mode: internal, port: 0, listeners: []}]",
      "1:42: binds[1]: there can be one internal bind without a port"
    ],
    [
      "binds: [{port: 1, listeners: [{routes: [], tcpRoutes: []}, {name: b, tcpRoutes: []}]}]",
      "1:31: binds[0].listeners[0]: a listener has either routes or tcpRoutes",
      "1:81: binds[0].listeners[1].tcpRoutes: protocol HTTP requires 'routes'"
    ],
    [
      "binds: [{port: 1, listeners: [{protocol: TCP, routes: []}]}]",
      "1:55: binds[0].listeners[0].routes: protocol TCP requires 'tcpRoutes'"
    ],
    ["routes: [{name: a}]", "1:10: routes[0]: routes.a must set gateways"],
    ["gateways: {default: {port: 1, protocol: TCP}}\nroutes: [{}]", "2:10: routes[0]: routes.route0 must set gateways"],
    [
      "gateways: {a: {port: 1}}\nroutes: [{gateways: b}, {gateways: [a/x]}]\ntcpRoutes: [{gateways: a}]",
      "2:21: routes[0].gateways: unknown gateway reference b",
      "2:37: routes[1].gateways[0]: unknown gateway reference a/x",
      "3:24: tcpRoutes[0].gateways: gateway reference a has no TCP listeners"
    ],
    ["backends: [{name: a, host: 'a:1'}, {name: a, host: 'b:1'}]", "1:36: backends[1]: backend a is defined twice"],
    [
      "gateways: {default: {port: 1}}\nbackends: [{name: llm, host: 'a:1'}]\nllm: {models: []}",
      "3:6: llm: backend llm is defined twice"
    ],
    [
      "llm: {port: 1, models: []}\ngateways: {g: {port: 1}}",
      "1:6: llm: port 1 is configured by both gateways.g and llm; binds, llm, and mcp must use unique ports"
    ],
    ["ui: {}", "1:5: ui: ui.gateways must be set"],
    ["ui: {gateways: x}", "1:16: ui.gateways: unknown gateway reference x"],
    [
      "llm: {providers: [{name: a, provider: openai}, {name: a, provider: openai}], models: [{name: m, provider: {reference: b}}, {name: n, provider: {reference: a}, params: {model: x, apiKey: k}}]}",
      "1:55: llm.providers[1].name: provider a is defined twice",
      "1:107: llm.models[0].provider: unknown provider reference b",
      "1:187: llm.models[1].params.apiKey: a model with a provider reference can only set params.model"
    ],
    [
      "llm: {models: [{name: a, id: i, provider: bedrock}, {name: b, id: i, provider: azure, params: {azureResourceName: r}}]}",
      "1:16: llm.models[0].params.awsRegion: required for provider bedrock",
      "1:67: llm.models[1].id: model id i is used twice",
      "1:87: llm.models[1].params.azureResourceType: required for provider azure"
    ],
    [
      "llm: {models: [{name: a, provider: {custom: {formats: [{type: messages}]}}}, {name: b, provider: openai, auth: {gcp: {}}, params: {apiKey: k, baseUrl: 'http://x/y?z'}}]}",
      "1:16: llm.models[0]: a custom provider requires params.baseUrl",
      "1:140: llm.models[1].params.apiKey: apiKey and auth exclude each other",
      "1:152: llm.models[1].params.baseUrl: expected an http or https URL without user information, query and fragment"
    ],
    [
      "llm: {models: [{name: a, provider: openai}], virtualModels: [{name: v, routing: {weighted: {targets: [{model: b}]}}}, {name: v, routing: {failover: {targets: [{model: a, priority: 1}]}}}]}",
      "1:111: llm.virtualModels[0].routing.weighted.targets[0].model: virtual model target b does not match any llm.models entry",
      "1:126: llm.virtualModels[1].name: virtual model v is defined twice"
    ],
    ["config: {storage: {mode: hybrid}}", "1:26: config.storage.mode: hybrid requires config.database.url"],
    [
      "config: {storage: {mode: hybrid}, database: {url: 'postgres://x', maxConnections: 1}}",
      "1:83: config.database.maxConnections: hybrid storage in PostgreSQL requires at least 2 connections"
    ],
    [
      "policies: [{name: {name: a, namespace: n}, target: {route: {name: r, namespace: n}}, phase: gateway, policy: {retry: {codes: []}}}]",
      "1:93: policies[0].phase: retry cannot run before a route is chosen",
      "1:93: policies[0].phase: only a policy of a gateway can run before a route is chosen"
    ],
    [
      "policies: [{name: {name: a, namespace: n}, target: {backend: {backend: {name: b, namespace: ''}}}, policy: {cors: {}}}]",
      "1:115: policies[0].policy.cors: cors cannot be attached to a backend"
    ],
    [
      "policies: [{name: {name: a, namespace: n}, target: {backend: {backend: {name: b, namespace: ''}}}, policy: {transformations: {conditional: [{request: {}}]}}}]",
      "1:126: policies[0].policy.transformations: a policy of a backend cannot be conditional"
    ],
    [
      "gateways: {default: {port: 1}}\nroutes: [{backends: [{host: 'a:1', policies: {inferenceRouting: {endpointPicker: {host: 'b:1'}}}}]}]",
      "2:65: routes[0].backends[0].policies.inferenceRouting: inferenceRouting can be used on service backends only"
    ],
    [
      "routeGroups: [{name: g, routes: []}, {name: g, routes: []}]",
      "1:38: routeGroups[1]: route group g is defined twice"
    ]
  ]

  for (const [text, ...lines] of refused)
    it(lines[0]!, () => {
      const result = read({ name: "config.yaml", text, env: {} })
      assert.deepStrictEqual(
        result.ok ? [] : result.problems.map(formatLine),
        lines.map((line) => `config.yaml:${line}`)
      )
    })
})
