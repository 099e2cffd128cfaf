/** The joined lines against an oracle that makes an object of each, on requests of all kinds. */
import { assert, describe, it } from "@effect/vitest"
import { Arbitrary, Schema } from "effect"
import { make } from "../../layers/log/console.ts"
import { HeaderList } from "../http/header-list.ts"
import { RequestHead } from "../http/message.ts"
import type { Fields } from "../services/log.ts"
import { NotFound } from "./errors.ts"
import { Exchange } from "./exchange.ts"
import { Passage } from "./passage.ts"
import { makeRecorder } from "./record.ts"
import { requestFacts } from "./request-fields.ts"
import type { Backend, Listener, Route } from "./route.ts"
import type { Outcome } from "./view.ts"

const integer = (minimum: number, maximum: number) =>
  Arbitrary.schema(Schema.Int.check(Schema.isBetween({ minimum, maximum })))
const oneOf = <A>(...values: ReadonlyArray<A>): Arbitrary.Arbitrary<A> =>
  Arbitrary.map(integer(0, values.length - 1), (index) => values[index] as A)

const text = oneOf(
  "",
  "plain",
  "with blanks",
  'a "quote" and a \\',
  "line\nbreak",
  "\r\n\r\n",
  "tab\there",
  "é€😀",
  "\ud800",
  "\u2028\u2029\u0085",
  "\u0000\u001b[2J\b\u009b",
  "\u0090\u009d"
)
const value: Arbitrary.Arbitrary<string | number | boolean> = oneOf<string | number | boolean>(
  "text",
  "more\r\ntext",
  "model\u001b]0;title\u2028\u0007",
  'a "quote"',
  0,
  -1.5,
  1e21,
  Number.NaN,
  true,
  false
)
const name = oneOf(
  "jwt.sub",
  "mcp.error.message",
  "gen_ai.usage.input_tokens",
  "own",
  "http.status",
  "error",
  "duration"
)

// As the router makes them: the same objects for all requests, and one backend under two routes.
const listeners = ["default", "other"].map((name) => ({ gateway: `default/${name}`, name, bind: "bind/1" }) as Listener)
const routes = [undefined, "rule"].map((rule) => ({ namespace: "default", name: "route0", rule }) as Route)
const backends = ["127.0.0.1:4000", "unix:/a b"].map(
  (target) => ({ name: target, protocol: "http", target }) as Backend
)

const request = Arbitrary.all({
  listener: oneOf(undefined, ...listeners),
  route: oneOf(undefined, ...routes),
  backend: oneOf(undefined, ...backends),
  endpoint: oneOf(undefined, undefined, "10.0.0.1:80", "10.0.0.2:80"),
  called: oneOf(undefined, 5),
  method: oneOf("GET", "POST", "ODD"),
  host: text,
  path: oneOf("/", "/a?b=c", "/a?token=secret", "/%00\n"),
  status: oneOf(undefined, 200, 404),
  failure: oneOf(undefined, 'the "client" went\naway'),
  error: oneOf(undefined, new NotFound({ what: "route" })),
  facts: Arbitrary.array(Arbitrary.all({ name, value }), { maxLength: 4 }),
  elapsed: oneOf(0, 0.4, 12.5, 86_400_000),
  time: integer(0, 4_000_000_000_000)
})

type Request = typeof request extends Arbitrary.Arbitrary<infer A> ? A : never

const passageOf = (drawn: Request): Passage => {
  const x = new Exchange(
    new RequestHead(drawn.method, "http", drawn.host, drawn.path, new HeaderList()),
    undefined,
    { address: "::1", port: 1, rawAddress: "::1", rawPort: 1 },
    0,
    0
  )
  Object.assign(x, { error: drawn.error })
  for (const { name, value } of drawn.facts) x.fact(name, value)
  const { listener, route, backend, endpoint, called } = drawn
  return Object.assign(new Passage(x), { listener, route, backend, endpoint, called })
}

const oneLine = (text: string) =>
  text
    .replace(/[\r\n]+/g, "\\n")
    .replace(
      /[\b\u001b\u0085\u0090\u009b\u009d\u2028\u2029]/g,
      (each) => `\\u${(0x10000 + each.charCodeAt(0)).toString(16).slice(1)}`
    )

const expected = (format: "text" | "json", time: string, fields: Fields): string => {
  if (format === "json") return `${JSON.stringify({ level: "info", time, scope: "request", ...fields })}\n`
  const parts = Object.entries(fields).flatMap(([name, value]) => {
    if (value === undefined) return []
    const shown = name === "error" || name === "mcp.error.message" ? JSON.stringify(value) : String(value)
    return [`${name}=${oneLine(shown)}`]
  })
  return `${[`${time}\tinfo\trequest`, ...parts].join(" ")}\n`
}

const reasonOf = ({ error, called }: Request) =>
  error !== undefined ? "NotFound" : called === undefined ? "DirectResponse" : undefined

describe("the line of a request", () => {
  for (const format of ["text", "json"] as const)
    it.prop(
      `as ${format} has its fields in order, each name once`,
      [Arbitrary.array(request, { minLength: 1, maxLength: 8 })],
      ([requests]) => {
        const lines: Array<string> = []
        const clock = { wall: 0, elapsed: 0 }
        const log = make({ filter: "info", format, write: (line) => lines.push(line), now: () => clock.wall })
        const nothing = () => ({ series: () => ({ record: () => {} }) })
        const metrics = {
          counter: nothing,
          histogram: nothing,
          gauge: nothing,
          gathered: () => {},
          remove: () => {},
          read: () => Promise.resolve([]),
          scrape: () => Promise.resolve({ contentType: "", text: "" })
        }
        const record = makeRecorder(log, metrics, () => clock.elapsed)
        for (const drawn of requests) {
          const passage = passageOf(drawn)
          const outcome: Outcome = { status: drawn.status, failure: drawn.failure, bytes: 0 }
          clock.wall = drawn.time
          clock.elapsed = drawn.elapsed
          record(passage, outcome)
          assert.strictEqual(
            lines.pop(),
            expected(format, new Date(drawn.time).toISOString(), {
              ...requestFacts(passage, outcome),
              error: drawn.error?.message ?? drawn.failure,
              reason: reasonOf(drawn),
              duration: `${Math.round(drawn.elapsed)}ms`
            })
          )
        }
      },
      { arbitrary: { runs: 300 } }
    )

  it("reads as it always did, and steers no terminal", () => {
    const lines: Array<string> = []
    const write = (line: string) => lines.push(line)
    const log = make({ filter: "info", format: "text", write, now: () => Date.UTC(2026, 10, 22, 13, 21, 3, 7) })
    log.log("info", "proxy", "started bind", { bind: "bind/1", gone: undefined, none: null })
    log.log("warn", "proxy", "a\nb", { error: 'not "found"', port: 1 })
    log.configure({ format: "json" })
    log.log("error", "mcp.stdio", "a\nb", { error: 'not "found"', none: null, gone: undefined })
    log.log("info", "request", "", { "http.status": 200 })
    log.configure({ format: "text" })
    log.log("info", "mcp.stdio", "\u001b[31mred\tand\u2028blue", { tool: "a\b\bb" })
    log.log("debug", "request", "not asked for")
    assert.deepStrictEqual(lines, [
      "2026-11-22T13:21:03.007Z\tinfo\tproxy\tstarted bind bind=bind/1\n",
      '2026-11-22T13:21:03.007Z\twarn\tproxy\ta\\nb error="not \\"found\\"" port=1\n',
      '{"level":"error","time":"2026-11-22T13:21:03.007Z","scope":"mcp.stdio","message":"a\\nb","error":"not \\"found\\"","none":null}\n',
      '{"level":"info","time":"2026-11-22T13:21:03.007Z","scope":"request","http.status":200}\n',
      "2026-11-22T13:21:03.007Z\tinfo\tmcp.stdio\t\\u001b[31mred\tand\\u2028blue tool=a\\u0008\\u0008b\n"
    ])
  })
})
