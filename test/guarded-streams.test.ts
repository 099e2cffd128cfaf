/** Streams under guard, as their clients, their traces and the metrics see them: each judgement is a call of the guard's node. */
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Schema } from "effect"
import { parse } from "yaml"
import { traceProblems } from "../src/main/testing/order.ts"
import { whole } from "../src/main/testing/whole.ts"
import type { BackendSaid, Received } from "../src/main/testing/world.ts"
import type { TraceEvent } from "../src/main/trace.ts"

const Case = Schema.Struct({
  title: Schema.String,
  guards: Schema.String,
  says: Schema.Array(Schema.String),
  /** Why the provider breaks off behind that. Default: it ends. */
  breaks: Schema.optionalKey(Schema.String),
  asked: Schema.optionalKey(Schema.Array(Schema.Literals(["pass", "mask", "reject", "garbage", "slow", "nothing"]))),
  /** Milliseconds until the client goes away. */
  leaves: Schema.optionalKey(Schema.Int),
  got: Schema.Array(Schema.String),
  fails: Schema.optionalKey(Schema.String),
  told: Schema.Array(Schema.String),
  /** Why the request failed, as the trace and the record of it say. */
  error: Schema.optionalKey(Schema.String),
  checks: Schema.Record(Schema.String, Schema.Int),
  /** The tokens that are charged for what the provider has said until then: at least one for each event. */
  output: Schema.Int,
  /** Milliseconds that it took. Default: none. */
  took: Schema.optionalKey(Schema.Int)
})
const cases = Schema.decodeUnknownSync(Schema.Array(Case), { onExcessProperty: "error" })(
  parse(readFileSync(join(import.meta.dirname, "guarded-streams.yaml"), "utf8"))
)

const configuration = (guards: string) => `
gateways: { default: { port: 8080 } }
routes:
- policies: { timeout: { requestTimeout: 300ms }, backendAuth: { key: k } }
  backends:
  - ai: { name: m, provider: { openAI: {} } }
    policies: { ai: { promptGuard: { streaming: Enabled, response: ${guards} } } }
`

const json = [["content-type", "application/json"]] as const
const request = {
  method: "POST",
  scheme: "http",
  authority: "gateway.example",
  path: "/v1/chat/completions",
  headers: json,
  body: {
    chunks: [JSON.stringify({ model: "m", stream: true, messages: [{ role: "user", content: "hi" }] })],
    streamed: false
  },
  prefix: undefined
} as const

const spelled = (text: string): string =>
  text.replace(/(\S)\*(\d+)/g, (_, letter: string, count: string) => letter.repeat(+count))
const short = (text: string): string => text.replace(/(.)\1{9,}/g, (all, letter: string) => `${letter}*${all.length}`)

const event = (said: string): string =>
  said.startsWith("raw:")
    ? said.slice(4)
    : `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: spelled(said) } }] })}\n\n`

/** What a client reads of a stream. */
const read = (body: string): ReadonlyArray<string> =>
  body.split("\n\n").flatMap((each) => {
    if (each === "") return []
    const data = each.replace(/^data: /, "")
    if (!data.startsWith("{")) return [data]
    const { choices, error } = JSON.parse(data)
    return [error === undefined ? short(choices[0].delta.content) : `blocked: ${error.message}`]
  })

const replies = {
  pass: { action: { reason: "fine" } },
  mask: { action: { body: { choices: [{ message: { role: "assistant", content: "masked" } }] } } },
  reject: { action: { body: "not here", status_code: 451 } },
  garbage: "garbage",
  slow: { action: {} },
  nothing: { action: {} }
}

/** What a trace says of guards once the phases are over. */
const toldOf = (events: ReadonlyArray<TraceEvent>): ReadonlyArray<string> => {
  const begun = events.findIndex(
    ({ message }) => message.type === "responseSnapshot" && message.stage === "final response"
  )
  const at = (by: { readonly node: string; readonly source: string } | undefined) =>
    by?.node === "guardResponse" ? by.source.replace(/^routes.*response\./, "guard ") : `another node: ${by?.node}`
  return events.slice(begun).flatMap(({ message }): ReadonlyArray<string> => {
    switch (message.type) {
      case "policy":
        return [`${at(message)} ${message.result.type === "skip" ? "skipped" : message.result.details}`]
      case "backendCallStart":
        return [`${at(message.by)} asks ${message.target}`]
      case "backendCallResult":
        return [`${at(message.by)} was replied ${message.error ?? message.status}`]
      case "policyEvent": {
        if (typeof message.details === "string") return [`${message.kind} ${message.details}`]
        const told = message.details as Readonly<Record<string, unknown>>
        const { judgement, textBytes, heldBytes, passedBytes, verdict, reason } = told
        const sizes = `${textBytes} bytes of text, ${heldBytes} held, ${passedBytes} passed`
        return [`${message.kind} ${judgement} of ${sizes}, ${verdict}${reason === undefined ? "" : `: ${reason}`}`]
      }
      default:
        return []
    }
  })
}

describe("a stream under guard", () => {
  for (const each of cases)
    it.effect(each.title, () =>
      Effect.gen(function* () {
        const asked = [...(each.asked ?? [])]
        const backend = ({ target }: Received): BackendSaid => {
          if (!target.startsWith("guard"))
            return {
              status: 200,
              headers: [["content-type", "text/event-stream"]],
              body: {
                chunks: [...each.says.map(event), ...(each.breaks === undefined ? ["data: [DONE]\n\n"] : [])],
                streamed: true,
                breaks: each.breaks
              }
            }
          const reply = asked.shift()
          if (reply === undefined) return { fails: "down" }
          return {
            status: 200,
            headers: json,
            body: { chunks: [JSON.stringify(replies[reply])], streamed: false },
            after: reply === "nothing" ? 3_600_000 : reply === "slow" ? 700 : undefined
          }
        }
        const { send, world, metrics } = yield* whole(configuration(each.guards), { backend })
        const began = world.clock()
        if (each.leaves === undefined) {
          const { status, body, failure, error } = yield* send(request)
          assert.strictEqual(status, 200)
          assert.deepStrictEqual(read(body), each.got)
          assert.strictEqual(failure, each.fails)
          assert.strictEqual(error?.message, each.error)
        } else {
          const sending = yield* Effect.forkChild(send(request), { startImmediately: true })
          yield* Effect.provideContext(Effect.sleep(each.leaves), world.timing)
          yield* Fiber.interrupt(sending)
        }
        const events = world.traces.at(-1)!
        assert.deepStrictEqual(traceProblems(events), [])
        assert.deepStrictEqual(toldOf(events), each.told)
        const last = events.at(-1)?.message
        assert.strictEqual(
          last?.type === "requestFinished" ? last.error : "",
          each.error ?? each.fails ?? (each.leaves === undefined ? null : "the client went away")
        )
        const text = yield* metrics
        const found = [...text.matchAll(/guardrail_checks_total\{phase="Response",action="(\w+)"\} (\d+)/g)]
        assert.deepStrictEqual(
          Object.fromEntries(found.map(([, action, count]) => [action, Number(count)])),
          each.checks
        )
        const [, output = "0"] =
          /gen_ai_client_token_usage_sum\{[^}]*gen_ai_token_type="output"[^}]*\} (\d+)/.exec(text) ?? []
        assert.strictEqual(Number(output), each.output)
        assert.strictEqual(world.clock() - began, each.took ?? each.leaves ?? 0)
        assert.deepStrictEqual(asked, [])
        assert.deepStrictEqual(world.leaks(), [])
      }).pipe(Effect.scoped)
    )
})
