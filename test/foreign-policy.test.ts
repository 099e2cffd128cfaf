/** A policy of somebody else that is not type-checked: whatever it answers or throws, its request is answered, and the proxy lives. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { makeHeadgate } from "../src/main/library.ts"
import { after, HeaderList, object, policies, policy, registry, required, respond } from "../src/main/policy.ts"
import { send } from "./client.ts"

const headers = () => new HeaderList(["x-from", "liar"])
/** What it answers, behind a lie about the type. */
const lies: Readonly<Record<string, () => unknown>> = {
  "a number as body": () => ({ status: 200, headers: headers(), body: 42 }),
  "null as body": () => ({ status: 200, headers: headers(), body: null }),
  "an object as body": () => ({ status: 200, headers: headers(), body: { json: true } }),
  "a status of three letters": () => ({ status: "200", headers: headers(), body: "" }),
  "a status below 100": () => ({ status: 42, headers: headers(), body: "" }),
  "a line break in a header": () => ({ status: 200, headers: new HeaderList(["x-a", "b\r\nx-evil: 1"]), body: "" }),
  "no headers": () => ({ status: 200, body: "" }),
  "no answer": () => null,
  "an exception": () => {
    throw new Error("mistake")
  }
}

const liar = policy({
  name: "liar",
  traceKey: "liar",
  schema: object("Liar", "Answers what it must not.", {
    phase: required(Schema.Literals(["request", "response"]), "When.")
  }),
  sites: ["route"],
  responds: ["response"],
  reads: [],
  writes: [],
  outcomes: ["respond"],
  maturity: { status: "alpha", untrusted: "none" },
  compile: ({ phase }) =>
    Effect.succeed([
      { name: "liar", phase, run: (x) => respond(lies[decodeURIComponent(x.request.path.slice(1))]!() as never) }
    ])
})

describe("a policy that is not type-checked", () => {
  it.live.each(["request", "response"])("costs a request 500 in its %s phase, whatever it answers", (phase) =>
    Effect.gen(function* () {
      const headgate = makeHeadgate({
        registry: registry([...policies.policies, liar], {
          ...policies.orders,
          route: after(policies.orders.route, "cors", "liar"),
          response: [...policies.orders.response, "route liar"]
        })
      })
      const lines: Array<string> = []
      const gateway = yield* headgate.start(
        `
gateways: { default: { port: 8080 } }
routes: [{ policies: { liar: { phase: ${phase} }, directResponse: { status: 200, body: fine } } }]
`,
        { ephemeral: true, host: "127.0.0.1", log: (line) => lines.push(line) }
      )
      for (const name of Object.keys(lies)) {
        const { status, body } = yield* Effect.promise(() =>
          send(gateway.port(8080)!, { path: `/${encodeURIComponent(name)}` })
        )
        assert.strictEqual(status, 500, name)
        assert.notMatch(body, /mistake|liar/)
      }
      assert.isTrue(lines.some((line) => line.includes("a defect was contained")))
      const { body } = yield* Effect.promise(() => send(gateway.ports.stats!, { path: "/metrics" }))
      const counted = Array.from(body.matchAll(/^headgate_defects_total\{.*\} (\d+)$/gm), ([, count]) => Number(count))
      assert.strictEqual(
        counted.reduce((sum, count) => sum + count, 0),
        Object.keys(lies).length
      )
    })
  )
})
