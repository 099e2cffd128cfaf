/**
 * Names that every object of the language has, members that stand twice, and numbers that a double does not hold: in
 * bodies, headers, queries, rules, names of models and of tools. They are what they say, or refused, and change nothing.
 */
import { Effect } from "effect"
import { start } from "../../src/main/library.ts"
import { send } from "../client.ts"
import { origin } from "../origin.ts"
import { type AttackCase, attack, type Trial } from "./attack.ts"

interface OddCase extends AttackCase {
  /** The rule that decides, for what is asked of a route; none: it goes to the models, or to MCP. */
  readonly rule?: string
  readonly to?: "model" | "mcp" | "backend"
  readonly path?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
  readonly status: ReadonlyArray<number>
  /** What the answer, or else what the backend got, holds. */
  readonly holds?: string
}

const names = [
  "__proto__",
  "constructor",
  "prototype",
  "toString",
  "valueOf",
  "hasOwnProperty",
  "__defineGetter__",
  "then"
]

const judged = (title: string, rule: string, body: string, allowed: boolean): OddCase => ({
  title,
  rule,
  body,
  status: allowed ? [200] : [400, 403]
})
const model = (title: string, body: string, ...status: ReadonlyArray<number>): OddCase => ({
  title: `model: ${title}`,
  to: "model",
  body,
  status
})
const tool = (title: string, body: string, status: ReadonlyArray<number>, holds?: string): OddCase => ({
  title: `MCP: ${title}`,
  to: "mcp",
  body,
  status,
  ...(holds === undefined ? {} : { holds })
})
const call = (id: string, name: string) =>
  `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":${name},"arguments":{"__proto__":{"polluted":true}}}}`
const chat = (more: string) => `{"model":"demo","messages":[{"role":"user","content":"hi"}]${more}}`

const cases: ReadonlyArray<OddCase> = [
  ...names.flatMap((name) => [
    judged(`a body without ${name}`, `!(${JSON.stringify(name)} in json(request.body))`, "{}", true),
    judged(`a body with ${name}`, `json(request.body)[${JSON.stringify(name)}] == "a"`, `{"${name}":"a"}`, true),
    judged(`a map without ${name}`, `!(${JSON.stringify(name)} in {"a": request.path})`, "{}", true),
    judged(`headers without ${name}`, `!(${JSON.stringify(name)} in request.headers)`, "{}", true),
    judged(
      `reading ${name} of what does not have it`,
      `json(request.body)[${JSON.stringify(name)}] != "a"`,
      "{}",
      false
    )
  ]),
  judged("a member that stands twice, by its first", "json(request.body).a == 1", '{"a":1,"a":2}', false),
  judged("a member that stands twice, by its last", "json(request.body).a == 2", '{"a":1,"a":2}', false),
  judged("an inner member that stands twice", "json(request.body).x.a == 2", '{"x":{"a":1,"a":2}}', false),
  judged("a member that is written in two ways", "json(request.body).a == 2", '{"a":1,"\\u0061":2}', false),
  judged("2^53 + 1", "json(request.body).n == 9007199254740993", '{"n":9007199254740993}', true),
  judged("2^53 + 1 that is not 2^53", "json(request.body).n == 9007199254740992", '{"n":9007199254740993}', false),
  judged("2^63 - 1", "json(request.body).n == 9223372036854775807", '{"n":9223372036854775807}', true),
  judged("2^63", "json(request.body).n == 9223372036854775807", '{"n":9223372036854775808}', false),
  judged("1e309", "json(request.body).n < 1.0e300", '{"n":1e309}', false),
  judged("-0", "json(request.body).n == 0", '{"n":-0}', true),
  judged("a number in text", "json(request.body).n == 1", '{"n":"1"}', false),
  judged("NaN", "json(request.body).n != 1", '{"n":NaN}', false),
  judged("a number of a thousand digits", "json(request.body).n == 1", `{"n":${"1".repeat(1_000)}}`, false),

  ...[...names, "", " ", "demo\0", "../demo", "demo/../demo", "*"].map((name) =>
    model(`the name ${JSON.stringify(name)}`, JSON.stringify({ model: name, messages: [] }), 400, 404)
  ),
  ...["null", "42", "1e309", "[]", "{}", '["demo"]', "true"].map((name) =>
    model(`the name ${name}`, `{"model":${name},"messages":[]}`, 400, 404)
  ),
  ...["1e309", "-1", "-0", "9007199254740993", "1.5", '"10"', "null", "[]", "{}"].map((value) =>
    model(`max_tokens ${value}`, chat(`,"max_tokens":${value}`), 200, 400)
  ),
  ...["1e309", "-1e309", '"hot"', "{}"].map((value) =>
    model(`temperature ${value}`, chat(`,"temperature":${value}`), 200, 400)
  ),
  model("a prototype in its members", chat(',"__proto__":{"stream":true},"constructor":{"prototype":{}}'), 200, 400),
  model(
    "a prototype in a message",
    '{"model":"demo","messages":[{"__proto__":{"role":"user"},"content":"hi"}]}',
    200,
    400
  ),

  ...names.map((name) => tool(`the tool ${name}`, call("1", JSON.stringify(name)), [200], `"name":"${name}"`)),
  tool("the id 2^53 + 1", call("9007199254740993", '"a"'), [200], '"id":9007199254740993'),
  tool("the id -0", call("-0", '"a"'), [200], '"id":-0'),
  tool("the id 1e309", call("1e309", '"a"'), [400]),
  tool("the id __proto__", call('"__proto__"', '"a"'), [200], '"id":"__proto__"'),
  tool("the id null", call("null", '"a"'), [400]),
  tool("an id that stands twice", call('1,"id":2', '"a"'), [400]),
  tool("a method that stands twice", '{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/list"}', [400]),
  tool("a name that stands twice", call("1", '"a","name":"b"'), [200], "-32602"),
  tool("a message by inheritance", '{"__proto__":{"jsonrpc":"2.0","id":1,"method":"ping"}}', [400]),
  ...names.map((name) => tool(`the method ${name}`, `{"jsonrpc":"2.0","id":1,"method":"${name}"}`, [200], '"id":1')),

  ...names
    .filter((name) => !name.includes("_"))
    .map((name) => ({
      title: `the header ${name}`,
      to: "backend" as const,
      headers: { [name]: "odd" },
      status: [200],
      holds: "odd"
    })),
  ...names.map((name) => ({
    title: `the query ${name}`,
    to: "backend" as const,
    path: `/backend?${name}[polluted]=1&${name}=2`,
    status: [200],
    holds: `${name}[polluted]=1&${name}=2`
  })),
  {
    title: "a path of odd names",
    to: "backend",
    path: `/backend/${names.join("/")}`,
    status: [200],
    holds: names.join("/")
  }
]

const untouched = () => Object.keys(Object.prototype).length === 0 && !("polluted" in {})

const open = Effect.gen(function* () {
  let received = ""
  const backend = yield* origin(({ path, headers, body }) => {
    received = `${path} ${JSON.stringify(headers)}`
    if (!path.startsWith("/mcp-server")) return { body: "done" }
    if (body === "") return { status: 405 }
    const id = /"id":("[^"]*"|[^,}]+)/.exec(body)?.[1]
    if (id === undefined) return { status: 202 }
    const result = body.includes('"initialize"')
      ? '{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"f","version":"1"}}'
      : `{"content":[],"structuredContent":${body}}`
    return { headers: { "content-type": "application/json" }, body: `{"jsonrpc":"2.0","id":${id},"result":${result}}` }
  })
  const gateway = yield* start(
    `
gateways: { default: { port: 8080 }, models: { port: 8081 } }
llm:
  gateways: models
  models: [{ name: demo, provider: mock }]
backends:
- name: relay
  mcp: { statefulMode: stateless, targets: [{ name: one, mcp: { host: "http://${backend.address}/mcp-server" } }] }
routes:
- { name: relay, gateways: default, matches: [{ path: { pathPrefix: /mcp } }], backends: [{ backend: /relay }] }
- name: backend
  gateways: default
  matches: [{ path: { pathPrefix: /backend } }]
  policies: { apiKey: { mode: optional, keys: [{ key: a, metadata: { constructor: 1, toString: { prototype: 2 } } }] } }
  backends: [{ host: "${backend.address}" }]
${cases
  .flatMap(({ rule }, index) =>
    rule === undefined
      ? []
      : `- { gateways: default, matches: [{ path: { pathPrefix: /odd-${index} } }], policies: { authorization: { rules: [${JSON.stringify(rule)}] }, directResponse: { status: 200 } } }`
  )
  .join("\n")}
`,
    { ephemeral: true, host: "127.0.0.1" }
  )
  const json = { "content-type": "application/json", accept: "application/json, text/event-stream" }

  const trial: Trial<OddCase> = (one) =>
    Effect.promise(async () => {
      const { to, headers, body, status, holds } = one
      received = ""
      const path =
        to === "model"
          ? "/v1/chat/completions"
          : to === "mcp"
            ? "/mcp"
            : to === "backend"
              ? "/backend"
              : `/odd-${cases.indexOf(one)}`
      const answer = await send(gateway.port(to === "model" ? 8081 : 8080)!, {
        method: body === undefined ? "GET" : "POST",
        path: one.path ?? path,
        headers: { ...json, ...headers },
        body
      })
      if (!untouched()) throw new Error("the request has changed what every object has")
      if (!status.includes(answer.status)) throw new Error(`${answer.status} ${answer.body}, where ${status} was due`)
      if (holds !== undefined && !`${answer.body} ${received}`.includes(holds))
        throw new Error(`no ${holds} in ${answer.body} ${received}`)
    })
  return trial
})

export const oddNames = attack<OddCase>({
  class: "prototypes, duplicates, big numbers",
  name: "names, members and numbers",
  proves: "names of every object, members that stand twice and numbers of any size are what they say, or refused",
  cases,
  open
})
