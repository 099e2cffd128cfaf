/** The whole proxy, run in this process for the time of a test. */

import { Effect, Layer } from "effect"
import * as ConsoleLog from "../../../layers/log/console.ts"
import * as Prometheus from "../../../layers/metrics/prometheus.ts"
import { standard } from "../../../src/main/configuration/distribution.ts"
import { defaultPortOptions, ports } from "../../../src/main/configuration/ports.ts"
import { fromText } from "../../../src/main/configuration/source.ts"
import { run } from "../../../src/main/proxy/run.ts"
import { Log } from "../../../src/services/log.ts"

/** A port that was free a moment ago. */
/** Runs a configuration until the scope ends. Only its listeners are opened. */
export const proxy = (config: unknown) =>
  Effect.gen(function* () {
    const lines: Array<string> = []
    const log = Layer.succeed(
      Log,
      ConsoleLog.make({
        filter: "info",
        format: "text",
        write: (line) => lines.push(line),
        now: () => 0
      })
    )
    const services = Layer.provideMerge(ports(defaultPortOptions), Layer.mergeAll(log, Prometheus.layer()))
    const context = yield* Layer.build(services)
    const env = { ADMIN_ADDR: "off", STATS_ADDR: "off", READINESS_ADDR: "off" }
    yield* Effect.provideContext(
      run({ distribution: standard, source: fromText(JSON.stringify(config)), env, host: "127.0.0.1" }),
      context
    )
    return { lines }
  })
