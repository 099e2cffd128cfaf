/**
 * Smuggling, the other way: what a backend may answer that two readers might frame differently. The client gets one
 * well-formed answer or a cut connection, and whoever comes next on the same connections gets what is theirs.
 */
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { Effect, Schema } from "effect"
import * as Arbitrary from "effect/Arbitrary"
import { parse } from "yaml"
import { start } from "../../src/main/library.ts"
import { tcpBackend } from "../http/edge.ts"
import { parseResponses, RawClient } from "../http/raw-client.ts"
import { attack, type Trial } from "./attack.ts"
import { unhurried } from "./gateway.ts"

const Answer = Schema.Struct({
  title: Schema.String,
  /** The bytes, one for each character. */
  send: Schema.String,
  /** A text that stands where the bytes have `%`, and how often. */
  repeat: Schema.optionalKey(Schema.Tuple([Schema.String, Schema.Int])),
  /** The method of the request that is answered so. Default GET. */
  method: Schema.optionalKey(Schema.String),
  /** The backend hangs up behind these bytes. */
  closes: Schema.optionalKey(Schema.Boolean),
  /** They are sent as soon as there is a first connection, before any request. */
  early: Schema.optionalKey(Schema.Boolean),
  /** The status that the client sees; any of them. Default: a failure of the backend, 502 or 503. */
  gives: Schema.optionalKey(Schema.Union([Schema.Int, Schema.Array(Schema.Int)])),
  /** The body that the client sees. */
  body: Schema.optionalKey(Schema.String),
  /** The statuses of the 1xx answers that the client sees. Default: whatever they are. */
  told: Schema.optionalKey(Schema.Array(Schema.Int)),
  /** The connection of the client is cut in the middle of the body. */
  cut: Schema.optionalKey(Schema.Boolean),
  /** The body is broken: 502 when that came in one piece with the head, else the connection of the client is cut. */
  breaks: Schema.optionalKey(Schema.Boolean)
})
type HostileAnswer = typeof Answer.Type

const answers: ReadonlyArray<HostileAnswer> = Schema.decodeUnknownSync(Schema.Array(Answer), {
  onExcessProperty: "error"
})(parse(readFileSync(join(import.meta.dirname, "hostile-answers.yaml"), "utf8"))).map(({ repeat, ...answer }) =>
  repeat === undefined ? answer : { ...answer, send: answer.send.replace("%", repeat[0].repeat(repeat[1])) }
)

interface Shot extends HostileAnswer {
  /** Where the bytes are cut into packets. */
  readonly cuts: ReadonlyArray<number>
}

const next = "HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nnext"
const field = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+: ?[\t\x20-\x7e\x80-\xff]*$/
const ofOneConnection = /^(?:te|trailer|upgrade|keep-alive|proxy-connection|proxy-authenticate)$/i

/** What is wrong with the head of an answer, if something is. */
const illFormed = (status: number, head: string): string | undefined => {
  const [first = "", ...lines] = head.split("\r\n")
  if (!/^HTTP\/1\.1 [1-9][0-9]{2} [\t\x20-\x7e\x80-\xff]*$/.test(first)) return first
  const bad = lines.find((line) => !field.test(line))
  if (bad !== undefined) return bad
  const names = lines.map((line) => line.slice(0, line.indexOf(":")).toLowerCase())
  const framing = names.filter((name) => name === "content-length" || name === "transfer-encoding")
  if (framing.length > (status < 200 || status === 204 ? 0 : 1)) return framing.join()
  return names.find((name) => ofOneConnection.test(name) && !(status < 200))
}

const open = Effect.gen(function* () {
  let now: Shot
  /** How many connections this case has opened. */
  let opened = 0
  const backend = yield* tcpBackend((socket) => {
    let rest = ""
    const say = async () => {
      let sent = 0
      for (const at of [...now.cuts.filter((at) => at < now.send.length), now.send.length]) {
        socket.write(now.send.slice(sent, at), "latin1")
        sent = at
        if (at < now.send.length) await new Promise((resolve) => setImmediate(resolve))
      }
      if (now.closes === true) socket.end()
    }
    if (now.early === true && ++opened === 1) void say()
    socket.on("end", () => socket.end())
    socket.on("data", (chunk: Buffer) => {
      rest += chunk.toString("latin1")
      for (let end = rest.indexOf("\r\n\r\n"); end >= 0; end = rest.indexOf("\r\n\r\n")) {
        const hostile = rest.includes(" /hostile ") && now.early !== true
        rest = rest.slice(end + 4)
        if (hostile) void say()
        else socket.write(next)
      }
    })
  })
  const gateway = yield* start(
    `
gateways: { default: { port: 8080 } }
routes: [{ backends: [{ host: "127.0.0.1:${backend.port}" }] }]
${unhurried}
`,
    { ephemeral: true, host: "127.0.0.1" }
  )
  const port = gateway.port(8080)!
  const trial: Trial<Shot> = (shot) =>
    Effect.promise(async () => {
      now = shot
      opened = 0
      const { method = "GET", body, told, breaks = false } = shot
      const { gives = breaks ? 502 : [502, 503] } = shot
      // A connection to the backend that an earlier case left behind is none of this one's.
      for (const socket of backend.sockets.splice(0)) socket.destroy()
      const client = new RawClient(port).send(`${method} /hostile HTTP/1.1\r\nHost: a\r\n\r\n`)
      const all = () => parseResponses(client.received, new Array<string>(200).fill(method))
      const final = () => all().find(({ status }) => status >= 200)
      await client.until(() => final() !== undefined || client.ended || client.closed)
      const said = () => `client received ${JSON.stringify(client.text.slice(0, 2000))}`
      const whole = final()
      // Where the pieces end decides whether the head was passed on.
      const cut = shot.cut ?? (breaks && shot.cuts.length > 0 && whole === undefined)
      if (cut) {
        if (whole !== undefined || !(client.ended || client.closed)) throw new Error(`not cut; ${said()}`)
        if (!client.text.startsWith("HTTP/1.1 200 ")) throw new Error(said())
      } else {
        if (whole === undefined) throw new Error(`no answer; ${said()}`)
        if (![gives].flat().includes(whole.status)) throw new Error(`expected ${gives}; ${said()}`)
        if (body !== undefined && whole.body.toString("latin1") !== body) throw new Error(`another body; ${said()}`)
        const informed = all().filter(({ status }) => status < 200)
        if (told !== undefined && JSON.stringify(informed.map(({ status }) => status)) !== JSON.stringify(told))
          throw new Error(`told otherwise; ${said()}`)
        for (const { status, head } of all()) {
          const bad = illFormed(status, head)
          if (bad !== undefined) throw new Error(`ill-formed: ${bad}; ${said()}`)
        }
      }
      const before = all().findIndex(({ status }) => status >= 200) + 1
      const open = !cut && !/\r\nconnection: close\r\n/i.test(`\r\n${whole?.head}\r\n`)
      const second = open ? client : new RawClient(port)
      second.send("GET /next HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
      await second.toEnd()
      const after = parseResponses(second.received, new Array<string>(open ? before : 0).fill(method)).slice(
        open ? before : 0
      )
      if (after.length !== 1 || after[0]!.status !== 200 || after[0]!.body.toString() !== "next")
        throw new Error(`the next one received ${JSON.stringify(second.text.slice(-2000))}`)
      client.socket.destroy()
    })
  return trial
})

const cutting = Arbitrary.all({
  answer: Arbitrary.schema(Schema.Literals(answers.map(({ title }) => title))),
  cuts: Arbitrary.array(Arbitrary.schema(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 120 }))), {
    maxLength: 4
  })
})

export const hostileAnswers = attack<Shot>({
  class: "smuggling",
  name: "hostile answers",
  proves: "a client gets one well-formed answer or none, and the next client its own",
  cases: answers.map((answer) => ({ ...answer, cuts: [] })),
  generated: {
    cases: Arbitrary.map(cutting, ({ answer, cuts }) => {
      const at = [...new Set(cuts)].sort((one, other) => one - other)
      return { ...answers.find(({ title }) => title === answer)!, title: `${answer}, cut at ${at}`, cuts: at }
    }),
    few: 100,
    many: 20_000
  },
  open
})
