/** A whole gateway that is attacked in the test's own process, with a route that shows whether it is still well. */
import { Effect, type Scope } from "effect"
import { type Headgate, start } from "../../src/main/library.ts"
import { type Received, type Sent, send } from "../client.ts"

export interface Attacked {
  readonly gateway: Headgate
  readonly port: number
  /** What it logged so far. */
  readonly lines: Array<string>
  /** Asks, and shows `undefined` when the connection is cut before the whole answer is there. */
  readonly ask: (sent: Sent) => Promise<Received | undefined>
  /** Fails unless it still answers somebody else at once, and nothing went wrong inside of it meanwhile. */
  readonly well: () => Promise<void>
}

/** The route that answers `/well` without any backend. */
export const wellRoute =
  "{ matches: [{ path: { exact: /well } }], policies: { directResponse: { status: 200, body: well } } }"

/**
 * Nobody is turned away because this machine has little time for the process: clients and backends share it with the gateway,
 * and beside it other suites run. What is turned away when there is too much to do is judged where the time is played.
 */
export const unhurried = "config: { overload: { maxDelay: 0s } }"

/** @param configuration without `config`. */
export const attacked = (
  configuration: string,
  env: Readonly<Record<string, string>> = {}
): Effect.Effect<Attacked, unknown, Scope.Scope> =>
  Effect.gen(function* () {
    const lines: Array<string> = []
    const gateway = yield* start(`${configuration}\n${unhurried}\n`, {
      ephemeral: true,
      host: "127.0.0.1",
      log: (line) => lines.push(line),
      env
    })
    const port = gateway.port(8080)!
    return {
      gateway,
      port,
      lines,
      ask: (sent) => send(port, sent).catch(() => undefined),
      well: async () => {
        const begun = performance.now()
        const { status, body } = await send(port, { path: "/well" })
        const took = performance.now() - begun
        if (status !== 200 || body !== "well") throw new Error(`somebody else received ${status} ${body}`)
        if (took > 5000) throw new Error(`somebody else waited ${took.toFixed(0)} ms`)
        const defects = lines.filter((line) => line.includes("a defect was contained"))
        lines.length = 0
        if (defects.length > 0) throw new Error(defects.join(""))
      }
    }
  })
