/** Parameters of the wrong type: whatever stands where a method looks, its client is told so and the gateway is not at fault. */
import { assert, describe, it } from "@effect/vitest"
import { type FakeTarget, serving } from "../../../test/mcp-fake-target.ts"
import { type Rehearsal, rehearse } from "../../../test/mcp-rehearsal.ts"
import { code } from "./errors.ts"

/** What each method reads, as paths into its parameters. */
const looked: Readonly<Record<string, ReadonlyArray<string>>> = {
  "server/discover": ["", "_meta"],
  ping: ["", "_meta"],
  "logging/setLevel": ["", "level"],
  "tools/list": ["", "cursor", "_meta", "_meta.progressToken"],
  "prompts/list": ["", "cursor"],
  "resources/list": ["", "cursor"],
  "resources/templates/list": ["", "cursor"],
  "tools/call": ["", "name", "arguments", "_meta", "_meta.progressToken", "_meta.io.modelcontextprotocol/related-task"],
  "prompts/get": ["", "name", "arguments"],
  "resources/read": ["", "uri"],
  "resources/subscribe": ["", "uri"],
  "resources/unsubscribe": ["", "uri"],
  "completion/complete": ["", "ref", "ref.type", "ref.name", "ref.uri", "argument"],
  "subscriptions/listen": [
    "",
    "notifications",
    "notifications.toolsListChanged",
    "notifications.resourceSubscriptions"
  ],
  "tasks/get": ["", "taskId"],
  "tasks/update": ["", "taskId"],
  "tasks/cancel": ["", "taskId"],
  "tasks/result": ["", "taskId"]
}

const wrong = ["42", "-0", "1e309", "null", "true", "[]", "[42]", "{}", '{"a":1}', '{"name":"a","name":"b"}']

/** Parameters that are right, but for what stands at one place. */
const right: Readonly<Record<string, unknown>> = {
  name: "one_echo",
  uri: "one+memo:a",
  taskId: "one+1",
  level: "info",
  ref: { type: "ref/prompt", name: "one_echo" },
  argument: { name: "a", value: "b" },
  notifications: { toolsListChanged: true }
}

const paramsWith = (path: string, value: string, meta: Readonly<Record<string, unknown>>): string => {
  if (path === "") return value
  const steps = path.split(/\.(?!modelcontextprotocol)/)
  const place = (at: unknown, [step, ...rest]: ReadonlyArray<string>): string => {
    const members = Object.entries(typeof at === "object" && at !== null ? at : {}).filter(([name]) => name !== step)
    const inner = (at as Record<string, unknown> | undefined)?.[step!]
    const own = rest.length === 0 ? value : place(inner, rest)
    return `{${[...members.map(([name, each]) => `${JSON.stringify(name)}:${JSON.stringify(each)}`), `${JSON.stringify(step)}:${own}`].join(",")}}`
  }
  return place({ ...right, _meta: meta }, steps)
}

const targets = (count: number): ReadonlyArray<FakeTarget> =>
  ["one", "two"].slice(0, count).map((name) => serving(name, false, {}))

const modernVersion = "2026-07-28"

const told = (relay: Rehearsal, text: string, headers: Readonly<Record<string, string>>) => {
  const answer = relay.begin({
    headers: Object.entries({
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      ...headers
    }).flat(),
    body: new TextEncoder().encode(text)
  })
  const response = answer.response()
  answer.cancel()
  return response
}

describe.each([1, 2])("behind a backend of %d targets", (count) => {
  for (const [method, paths] of Object.entries(looked))
    it(`${method} blames its client for what has the wrong type`, async () => {
      for (const era of ["legacy", "stateless", "modern"] as const) {
        const relay = await rehearse(targets(count), { statefulMode: era === "legacy" ? "stateful" : "stateless" })
        const session = era === "legacy" ? relay.initialize() : undefined
        const meta = era === "modern" ? { "io.modelcontextprotocol/protocolVersion": modernVersion } : {}
        for (const path of paths)
          for (const value of wrong) {
            const text = `{"jsonrpc":"2.0","id":1,"method":"${method}","params":${paramsWith(path, value, meta)}}`
            const response = told(relay, text, {
              ...(session === undefined ? {} : { "mcp-session-id": session }),
              ...(era === "modern"
                ? { "mcp-protocol-version": modernVersion, "mcp-method": method, "mcp-name": "one_echo" }
                : {})
            })
            const what = `${era} ${text}: ${response?.status} ${response?.text()}`
            if (response === undefined) continue
            assert.isBelow(response.status, 500, what)
            if (response.text().includes('"error"')) assert.notInclude(response.text(), `"code":${code.internal}`, what)
          }
        await relay.close()
      }
    })

  it("a name that is no text is told as parameters that are invalid", async () => {
    const relay = await rehearse(targets(count))
    const session = relay.initialize()
    for (const name of ["42", "null", "[]", "{}", "true"]) {
      const response = told(relay, `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":${name}}}`, {
        "mcp-session-id": session
      })!
      assert.strictEqual(response.status, 200)
      assert.deepStrictEqual(JSON.parse(response.text()), {
        jsonrpc: "2.0",
        id: 7,
        error: { code: -32602, message: "invalid params for method" }
      })
    }
    await relay.close()
  })
})
