import { assert, describe, it } from "@effect/vitest"
import { formatLine } from "../../../spec/config/problem.ts"
import { schemas } from "../../../stages/schemas.ts"
import { reader } from "../read.ts"
import { unknownTargets } from "./targets.ts"

const read = reader(schemas)

const modifier = "requestHeaderModifier: { set: { a: b } }"

/** What is told of policies with such targets. */
const toldOf = (targets: ReadonlyArray<string>, policy = modifier): ReadonlyArray<string> => {
  const policies = targets.map(
    (target, index) => `- { name: { name: p${index}, namespace: n }, target: ${target}, policy: { ${policy} } }`
  )
  const text = `
gateways:
  default: { port: 80 }
  edge: { port: 81, listeners: [{ name: tenants }] }
routes:
- { name: api, namespace: shop, ruleName: read, backends: [{ routeGroup: g }] }
routeGroups: [{ name: g, routes: [{ name: inner, backends: [{ backend: /users }, { host: "a:1" }] }] }]
backends: [{ name: users, host: "a:1" }, { name: model, ai: { groups: [{ providers: [{ name: one, provider: { openAI: {} } }] }] } }]
services: [{ hostname: orders, namespace: shop, ports: [{ port: 80 }] }]
policies:
${policies.join("\n")}
`
  const result = read({ name: "f", text, env: {} })
  if (!result.ok) return result.problems.map(formatLine)
  const { normalised, positions } = result.value
  return unknownTargets(normalised).map((complaint) => formatLine(positions.locate(complaint)))
}

const gateway = (more: string) => `{ gateway: { gatewayName: default, gatewayNamespace: default${more} } }`
const route = (name: string, namespace: string, more = "") =>
  `{ route: { name: ${name}, namespace: ${namespace}${more} } }`
const backend = (name: string, more = "") => `{ backend: { backend: { name: ${name}, namespace: ""${more} } } }`
const service = (hostname: string, more = "") =>
  `{ backend: { service: { hostname: ${hostname}, namespace: shop${more} } } }`

describe("policies without a target", () => {
  it("are none where every target is there", () => {
    assert.deepStrictEqual(
      toldOf([
        gateway(""),
        gateway(", port: 80"),
        gateway(", listenerName: default"),
        gateway(", listenerName: tenants"),
        gateway(", listenerName: edge/tenants"),
        route("api", "shop"),
        route("api", "shop", ", ruleName: read, kind: HTTPRoute"),
        route("inner", "default"),
        backend("users"),
        backend("model", ", section: one"),
        service("orders"),
        service("orders", ", port: 80"),
        backend("group/g/default/inner/backend1")
      ]),
      []
    )
  })

  const absent = [
    ["{ gateway: { gatewayName: edge, gatewayNamespace: default } }", "58: warning: policies[0].target.gateway"],
    [gateway(", port: 82"), "58: warning: policies[0].target.gateway"],
    [gateway(", listenerName: edge"), "58: warning: policies[0].target.gateway"],
    [gateway(", listenerName: default/tenants"), "58: warning: policies[0].target.gateway"],
    [gateway(", listenerName: edge/default"), "58: warning: policies[0].target.gateway"],
    [route("api", "default"), "56: warning: policies[0].target.route"],
    [route("api", "shop", ", ruleName: write"), "56: warning: policies[0].target.route"],
    [route("api", "shop", ", kind: TCPRoute"), "56: warning: policies[0].target.route"],
    [backend("orders"), "69: warning: policies[0].target.backend.backend"],
    [service("stock"), "69: warning: policies[0].target.backend.service"],
    [service("orders", ", port: 81"), "69: warning: policies[0].target.backend.service"],
    ["{ listenerSet: { name: a, namespace: shop } }", "62: warning: policies[0].target.listenerSet"]
  ] as const

  it.each(absent)("are told: %s", (target, place) => {
    const kind = /(\w+)$/.exec(place)![1]
    assert.deepStrictEqual(toldOf([target]), [
      `f:11:${place}: no such ${kind}: requestHeaderModifier has no effect [unknown-target]`
    ])
  })

  it.each(absent)("are errors where the policy decides about requests: %s", (target, place) => {
    const kind = /(\w+)$/.exec(place)![1]
    assert.deepStrictEqual(toldOf([target], "authorization: { rules: [{ deny: 'true' }] }"), [
      `f:11:${place.replace("warning: ", "")}: no such ${kind}: authorization has no effect`
    ])
  })

  it("are errors for every policy that says that it decides", () => {
    const deciding: ReadonlyArray<readonly [name: string, config: string]> = [
      ["apiKey", "{ keys: [] }"],
      ["basicAuth", '{ htpasswd: "a:b" }'],
      ["csrf", "{}"],
      ["localRateLimit", "[{ maxTokens: 1, tokensPerFill: 1, fillInterval: 1s }]"],
      ["mcpAuthorization", "{ rules: [] }"],
      ["ai", "{ promptGuard: {} }"]
    ]
    for (const [name, config] of deciding)
      assert.deepStrictEqual(
        toldOf([route("nowhere", "default")], `${name}: ${config}`).map((line) => line.replace(/^\S+ /, "")),
        [`policies[0].target.route: no such route: ${name} has no effect`]
      )
  })
})
