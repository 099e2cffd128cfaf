import { readFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { parse, stringify } from "yaml"
import { formatLine } from "../../../spec/config/problem.ts"
import { schemas } from "../../../stages/schemas.ts"
import type { Backend, BackendReference, Normalised, Policies, Route } from "../normalised.ts"
import { reader } from "../read.ts"

interface Case {
  readonly title: string
  readonly config: unknown
  readonly expanded: unknown
  readonly backends: unknown
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

const backendSummary = (backends: Readonly<Record<string, Backend>>) =>
  Object.fromEntries(
    Object.values(backends).map(({ key, destination, policies }) => [
      key,
      `${destination.kind} [${names(policies).join(" ")}]`
    ])
  )

describe("normalised form", () => {
  const cases: ReadonlyArray<Case> = parse(readFileSync(join(import.meta.dirname, "expansion.yaml"), "utf8"))

  for (const { title, config, expanded, backends } of cases)
    it(title, () => {
      const result = readCase(config)
      if (!result.ok) return assert.fail(result.problems.map(formatLine).join("\n"))
      assert.deepStrictEqual(summary(result.value.normalised), expanded)
      assert.deepStrictEqual(backendSummary(result.value.normalised.backends), backends)
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
