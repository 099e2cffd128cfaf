/**
 * Secrets on their way through a gateway: in its configuration, and in requests of every outcome. What it says of them (log
 * lines in both forms, traces, spans, metrics, dumps, graphs, and what it answers by itself) holds none.
 */
import { Effect, Stream } from "effect"
import { type Headgate, start } from "../../src/main/library.ts"
import { watch } from "../../src/main/trace.ts"
import { send } from "../client.ts"
import { collector, startSampled } from "../collector.ts"
import { nowhere, origin } from "../origin.ts"
import { until } from "../program.ts"
import { attack, type Trial } from "./attack.ts"
import { type Ask, answers, asks, configuration, held, secrets } from "./secret-requests.ts"

/** One gateway that is attacked: all get the same requests. */
interface Attacked {
  readonly port: number
  readonly watched: Headgate | undefined
  session: string
}

const open = Effect.gen(function* () {
  const backend = yield* origin(answers)
  const sink = yield* collector
  const down = yield* nowhere
  const fixed = yield* nowhere
  const told: Array<string> = []
  const env = { RUST_LOG: "trace", SESSION: held.session, MODEL_KEY: held.model, OTHER: held.other }
  const inProcess = (format: string) =>
    Effect.map(
      start(configuration(backend.address, down, 8080), {
        ephemeral: true,
        host: "127.0.0.1",
        env: { ...env, LOG_FORMAT: format },
        log: (line) => told.push(line)
      }),
      (watched): Attacked => ({ port: watched.port(8080)!, watched, session: "" })
    )
  // Spans leave a process of its own only.
  const program = yield* startSampled(configuration(backend.address, down, fixed), sink, {
    ...env,
    OTEL_METRICS_EXPORTER: "otlp"
  })
  const gateways = [
    yield* inProcess("text"),
    yield* inProcess("json"),
    { port: fixed, watched: undefined, session: "" } satisfies Attacked
  ]
  let printed = 0
  let asked = 0

  const managed = Effect.fnUntraced(function* () {
    for (const { watched } of gateways) {
      if (watched === undefined) continue
      for (const path of ["/config_dump", "/config_problems", "/debug/graph", "/debug/graph?format=mermaid", "/memory"])
        told.push((yield* Effect.promise(() => send(watched.ports.admin!, { path }))).body)
      told.push((yield* Effect.promise(() => send(watched.ports.stats!, { path: "/metrics" }))).body)
    }
  })

  const trial: Trial<Ask> = ({ title, method, path, headers = {}, body, status, afterwards }) =>
    Effect.gen(function* () {
      for (const gateway of gateways) {
        const filled = Object.fromEntries(
          Object.entries(headers).map(([name, value]) => [name, value.replace("%session%", gateway.session)])
        )
        // A limit shows with the second request.
        for (let times = status === 429 ? 2 : 1; times > 0; times--) {
          const events = gateway.watched === undefined ? undefined : yield* watch(gateway.watched)
          const answer = yield* Effect.promise(() => send(gateway.port, { method, path, headers: filled, body }))
          if (times === 1 && answer.status !== status)
            return yield* Effect.fail(new Error(`${answer.status} ${answer.body}, where ${status} was due`))
          const began = answer.headers["mcp-session-id"]
          if (typeof began === "string") gateway.session = began
          if (answer.status >= 400) told.push(answer.body)
          // What is no request is not traced.
          if (status === 400) continue
          if (events === undefined) asked++
          else told.push(...(yield* Stream.runCollect(events)).map((event) => JSON.stringify(event)))
        }
      }
      if (afterwards === true) {
        yield* managed()
        yield* Effect.promise(() =>
          until("the spans", () => sink.spans.filter(({ kind }) => kind === 2).length >= asked)
        )
        told.push(...sink.spans.map((span) => JSON.stringify(span)))
      }
      const output = program.printed()
      told.push(output.slice(printed))
      printed = output.length
      const known = [...secrets, ...gateways.map(({ session }) => session.slice(20)).filter((each) => each !== "")]
      for (const text of told.splice(0))
        for (const each of known) {
          const at = text.indexOf(each)
          if (at >= 0)
            return yield* Effect.fail(
              new Error(`${title}: it is told in ${text.slice(Math.max(0, at - 200), at + 60)}`)
            )
        }
    })
  return trial
})

export const toldSecrets = attack<Ask>({
  class: "secrets",
  name: "requests with secrets",
  proves:
    "no log line, trace, span, metric, dump or refusal holds a credential of the configuration, of a client or of a backend",
  cases: asks,
  open,
  patience: 30_000
})
