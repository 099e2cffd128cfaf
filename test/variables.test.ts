/**
 * Every variable of expressions, and who sets it: requests are sent that come by everything which sets one, and what they show of all
 * variables is what there is. What nothing sets yet stands in a list, with the subject that brings it.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { variables } from "../src/cel/phases.ts"
import { isStruct, type Struct } from "../src/cel/schema.ts"
import { HeaderList } from "../src/http/header-list.ts"
import { RequestHead } from "../src/http/message.ts"
import { start } from "../src/main/library.ts"
import { issuer, keySetFile, token } from "../src/main/testing/issuer.ts"
import { plainRequest, whole } from "../src/main/testing/whole.ts"
import { Exchange } from "../src/pipeline/exchange.ts"
import { mcpAuthorizer } from "../src/pipeline/mcp-rules.ts"
import { compileRules } from "../src/pipeline/rules.ts"
import { RawClient } from "./http/raw-client.ts"
import { origin } from "./origin.ts"
import { as, at, connected, showing } from "./tls/edge.ts"

/** What nothing sets in this build, by the subject that brings it. */
const awaited: Readonly<Record<string, ReadonlyArray<string>>> = {
  "others that decide": ["extauthz.*", "extproc.*"],
  "tools, whole": ["mcpGuardrails.*"],
  "the control plane": [
    "source.unverifiedWorkload.name",
    "source.unverifiedWorkload.namespace",
    "source.unverifiedWorkload.serviceAccount",
    "proxy.route.kind"
  ],
  // Read by fields of the access log, of metrics and of spans alone.
  "observability and operation": [
    "request.endTime",
    "proxy.responseProcessingDuration",
    "mcp.tool.arguments",
    "mcp.tool.result",
    "mcp.tool.error",
    "llm.timeToFirstToken",
    "llm.timePerOutputToken",
    "llm.prompt",
    "llm.completion",
    "llm.toolCalls"
  ],
  "models, whole": [
    "llm.countTokens",
    ...["cost", "costRates"].flatMap((name) =>
      ["total", "input", "output", "cacheRead", "cacheWrite", "reasoning", "inputAudio", "outputAudio"]
        .filter((field) => name === "cost" || field !== "total")
        .map((field) => `llm.${name}.${field}`)
    )
  ]
}

/** The paths of all fields; of a variable whose fields are known only at run time, any of them is one. */
const fieldsOf = (path: string, { fields, rest }: Struct): ReadonlyArray<string> => [
  ...Object.entries(fields).flatMap(([name, { type }]) =>
    isStruct(type) ? fieldsOf(`${path}.${name}`, type) : [`${path}.${name}`]
  ),
  ...(rest === undefined ? [] : [`${path}.*`])
]
const declared = Object.entries(variables).flatMap(([name, { struct }]) => fieldsOf(name, struct))

/** The fields that a dump of all variables has a value for. */
const setIn = (dump: unknown): ReadonlyArray<string> => {
  const visit = (path: string, struct: Struct, value: unknown): ReadonlyArray<string> => {
    if (typeof value !== "object" || value === null) return []
    return Object.entries(value).flatMap(([name, held]) => {
      if (held === null) return []
      const type = Object.hasOwn(struct.fields, name) ? struct.fields[name]!.type : undefined
      if (type === undefined)
        return struct.rest === undefined ? [`${path}.${name}, which is not declared`] : [`${path}.*`]
      return isStruct(type) ? visit(`${path}.${name}`, type, held) : [`${path}.${name}`]
    })
  }
  return Object.entries(dump as Readonly<Record<string, unknown>>).flatMap(([name, value]) => {
    const variable: { readonly struct: Struct } | undefined = variables[name as keyof typeof variables]
    return variable === undefined ? [`${name}, which is not declared`] : visit(name, variable.struct, value)
  })
}

const tls = {
  server: showing("server"),
  authority: at("workload.pem")
}

/** A request over TLS, with every kind of credential, to a backend. */
const ofRequests = Effect.gen(function* () {
  const backend = yield* origin({ headers: { "grpc-status": "0" }, body: "said" })
  const text = `
gateways:
  default:
    port: 8443
    tls: { ${tls.server}, root: ${tls.authority} }
    transformations: { request: { metadata: { tenant: '"blue"' } } }
routes:
- name: all
  ruleName: rule
  policies:
    jwtAuth: { issuer: "${issuer}", jwks: { file: "${keySetFile}" } }
    apiKey: { keys: [{ key: known, metadata: { user: ada } }], location: { header: { name: x-key } } }
    basicAuth: { htpasswd: "cy:{SHA}I7dElEdfX4dJgLdnbVEeI9iG2mQ=", authorizationLocation: { header: { name: x-basic, prefix: "Basic " } } }
    transformations: { response: { body: variables() } }
  backends: [{ host: "${backend.address}" }]
`
  const env = { POD_NAME: "pod", NAMESPACE: "space", GATEWAY: "gate" }
  const gateway = yield* start(text, { ephemeral: true, host: "127.0.0.1", log: () => {}, env })
  const made = yield* connected(gateway.port(8443)!, as("workload"))
  const headers = [`authorization: Bearer ${token({ sub: "ada" })}`, "x-key: known", "x-basic: Basic Y3k6cMOkc3N3b3Jk"]
  const { status, body } = yield* Effect.promise(() => made.ask("localhost", "/", `${headers.join("\r\n")}\r\n`))
  assert.strictEqual(status, 200, body)
  return setIn(JSON.parse(body))
})

/** A request that comes through a tunnel. */
const ofTunnels = Effect.gen(function* () {
  const text = `
frontendPolicies: { connect: { mode: tunnel } }
gateways: { default: { port: 8080 } }
routes:
- policies: { directResponse: { status: 200, body: "" }, transformations: { response: { body: variables() } } }
`
  const gateway = yield* start(text, { ephemeral: true, host: "127.0.0.1", log: () => {} })
  const client = new RawClient(gateway.port(8080)!)
    .send("CONNECT a.example:8080 HTTP/1.1\r\nhost: a.example:8080\r\nx-team: blue\r\n\r\n")
    .send("GET / HTTP/1.1\r\nhost: a.example\r\nconnection: close\r\n\r\n")
  yield* Effect.promise(() => client.toEnd())
  return setIn(JSON.parse(client.text.slice(client.text.indexOf("\r\n\r\n{") + 4)))
})

/** A call of a model: what is known before it, in the body that its provider receives, and afterwards. */
const ofModels = Effect.gen(function* () {
  const usage = {
    prompt_tokens: 9,
    completion_tokens: 7,
    total_tokens: 16,
    prompt_tokens_details: {
      cached_tokens: 1,
      cache_write_tokens: 1,
      image_tokens: 1,
      text_tokens: 1,
      audio_tokens: 1
    },
    completion_tokens_details: { reasoning_tokens: 1, image_tokens: 1, text_tokens: 1, audio_tokens: 1 }
  }
  const answer = {
    model: "gpt-4o-2",
    service_tier: "default",
    usage,
    choices: [{ message: { role: "assistant", content: "hi" } }]
  }
  const json = [["content-type", "application/json"]] as const
  const { send } = yield* whole(
    `
gateways: { default: { port: 8080 } }
routes:
- policies: { transformations: { response: { body: variables() } } }
  backends:
  - ai: { name: own, provider: { openAI: { model: gpt-4o } } }
    policies: { ai: { transformations: { user: toJson(variables()) } } }
`,
    { backend: { status: 200, headers: json, body: { chunks: [JSON.stringify(answer)], streamed: false } } }
  )
  const params = { temperature: 1, top_p: 1, frequency_penalty: 1, presence_penalty: 1, seed: 1, max_tokens: 1 }
  const asked = {
    model: "gpt-4o",
    messages: [{ role: "user", content: "hi" }],
    ...params,
    encoding_format: "float",
    dimensions: 1
  }
  const { body, received, status } = yield* send({
    ...plainRequest,
    method: "POST",
    path: "/v1/chat/completions",
    headers: json,
    body: { chunks: [JSON.stringify(asked)], streamed: false }
  })
  assert.strictEqual(status, 200, body)
  const { user } = JSON.parse(received!.body) as { readonly user: string }
  return [...setIn(JSON.parse(user)), ...setIn(JSON.parse(body))]
})

/** What rules over the items of MCP servers read. */
const ofItems = Effect.gen(function* () {
  const found: Array<string> = []
  for (const kind of ["tool", "prompt", "resource", "task"] as const) {
    const fields = ["mcp.methodName", "mcp.sessionId", `mcp.${kind}.target`, `mcp.${kind}.name`]
    const expression = fields.map((field) => `has(${field})`).join(" && ")
    const rules = yield* compileRules([{ effect: "allow", expression }], "mcp", [])
    const head = new RequestHead("POST", "http", "a.example", "/", new HeaderList())
    const x = new Exchange(head, undefined, { address: "", port: 0, rawAddress: "", rawPort: 0 }, 0, 0)
    assert.isTrue(mcpAuthorizer(rules, x, "session")({ kind, target: "t", name: "n", method: "m" }))
    found.push(...fields)
  }
  return found
})

describe("every variable of expressions", () => {
  it.live("is set, or awaited with the subject that brings it", () =>
    Effect.gen(function* () {
      const set = [yield* ofRequests, yield* ofTunnels, yield* ofModels, yield* ofItems].flat()
      const later = Object.values(awaited).flat()
      assert.deepStrictEqual([...new Set([...set, ...later])].toSorted(), declared.toSorted())
      assert.deepStrictEqual(
        later.filter((field) => set.includes(field)),
        []
      )
    })
  )
})
