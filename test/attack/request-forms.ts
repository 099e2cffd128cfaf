/**
 * Smuggling: requests in every form that two implementations might frame differently, through a whole gateway to a strict
 * backend. In the same packet follows one more request, which must be understood as what it is, or not at all.
 */
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { Effect, Schema } from "effect"
import * as Arbitrary from "effect/Arbitrary"
import { parse } from "yaml"
import { start } from "../../src/main/library.ts"
import { parseResponses, RawClient } from "../http/raw-client.ts"
import { attack, type Trial } from "./attack.ts"
import { type StrictOrigin, shown, strictOrigin } from "./strict-origin.ts"

const Form = Schema.Struct({
  title: Schema.String,
  /** The bytes, one for each character. */
  send: Schema.String,
  /** A text that stands where the bytes have `%`, and how often. */
  repeat: Schema.optionalKey(Schema.Tuple([Schema.String, Schema.Int])),
  /** What the backend is asked, in order: `GET /path`, `POST /path body`. */
  reaches: Schema.optionalKey(Schema.Array(Schema.String)),
  /** The status of the last answer, after which the connection is closed; any of them. */
  refused: Schema.optionalKey(Schema.Union([Schema.Int, Schema.Array(Schema.Int)])),
  /** The connection is closed after the last answer, though nothing was refused; beside `refused`: or if nothing was. */
  closes: Schema.optionalKey(Schema.Boolean),
  /** The client hangs up after these bytes. */
  cut: Schema.optionalKey(Schema.Boolean)
})
export type RequestForm = typeof Form.Type

/** The forms, in the order of the file. The judges of framing read them, too. */
export const forms: ReadonlyArray<RequestForm> = Schema.decodeUnknownSync(Schema.Array(Form), {
  onExcessProperty: "error"
})(parse(readFileSync(join(import.meta.dirname, "request-forms.yaml"), "utf8"))).map(({ repeat, ...form }) =>
  repeat === undefined ? form : { ...form, send: form.send.replace("%", repeat[0].repeat(repeat[1])) }
)

/** The request that follows every form. */
export const canary = "GET /canary HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"

interface Shot extends RequestForm {
  /** Where the bytes are cut into packets; none: they leave at once. */
  readonly cuts: ReadonlyArray<number>
}

/** How a form is tried on a gateway before this backend. */
export const requestFormsTo = Effect.fnUntraced(function* (origin: StrictOrigin) {
  const gateway = yield* start(
    `
gateways: { default: { port: 8080 } }
routes: [{ backends: [{ host: "127.0.0.1:${origin.port}" }] }]
`,
    { ephemeral: true, host: "127.0.0.1" }
  )
  const port = gateway.port(8080)!
  const trial: Trial<Shot> = ({ send, reaches = [], refused, closes = false, cut = false, cuts }) =>
    Effect.promise(async () => {
      origin.received.length = 0
      origin.violations.length = 0
      const client = new RawClient(port)
      const bytes = cut ? send : send + canary
      let sent = 0
      for (const at of [...cuts.filter((at) => at < bytes.length), bytes.length]) {
        client.send(bytes.slice(sent, at))
        sent = at
        if (at < bytes.length) await new Promise((resolve) => setImmediate(resolve))
      }
      if (cut) client.socket.end()
      const received = await client.toEnd()
      const goesOn = refused === undefined && !closes && !cut
      const expected = goesOn ? [...reaches, "GET /canary"] : reaches
      const statuses = [...expected.map(() => 200), ...(refused === undefined ? [] : [refused])]
      const methods = expected.map((request) => request.slice(0, request.indexOf(" ")))
      const answers = parseResponses(client.received, methods).filter(({ status }) => status >= 200)
      const said = `${JSON.stringify(origin.received.map(shown))}, client received ${JSON.stringify(received)}`
      if (origin.violations.length > 0) throw new Error(`the backend cannot take: ${origin.violations}; asked ${said}`)
      if (JSON.stringify(origin.received.map(shown)) !== JSON.stringify(expected))
        throw new Error(`the backend was asked ${said}`)
      if (client.reset) throw new Error(`the connection was reset; asked ${said}`)
      // A client that hung up, and one that was told of the end with its last answer, need no refusal.
      const least = statuses.length - (refused !== undefined && (closes || cut) ? 1 : 0)
      if (
        answers.length < least ||
        answers.length > statuses.length ||
        answers.some(({ status }, i) => ![statuses[i]].flat().includes(status))
      )
        throw new Error(`expected ${statuses.join(", ")}; asked ${said}`)
    })
  return trial
})

const cutting = Arbitrary.all({
  form: Arbitrary.schema(Schema.Literals(forms.map(({ title }) => title))),
  cuts: Arbitrary.array(Arbitrary.schema(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 120 }))), {
    maxLength: 4
  })
})

export const requestForms = attack<Shot>({
  class: "smuggling",
  name: "request forms",
  proves: "a backend is asked what the gateway understood, once, or nothing",
  cases: forms.map((form) => ({ ...form, cuts: [] })),
  generated: {
    cases: Arbitrary.map(cutting, ({ form, cuts }) => {
      const at = [...new Set(cuts)].sort((one, other) => one - other)
      return { ...forms.find(({ title }) => title === form)!, title: `${form}, cut at ${at}`, cuts: at }
    }),
    few: 100,
    many: 20_000
  },
  open: Effect.flatMap(strictOrigin, requestFormsTo)
})
