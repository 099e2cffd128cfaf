/** headgate, the proxy: `headgate -f config.yaml`. Runs in the foreground until it is told to end. */
import { closeSync, existsSync } from "node:fs"
import { flushCompileCache } from "node:module"
import { parseArgs } from "node:util"
import { Effect, Exit, Layer, Option, Queue, Scope } from "effect"
import * as ConsoleLog from "../../layers/log/console.ts"
import * as Prometheus from "../../layers/metrics/prometheus.ts"
import { nearest } from "../../spec/config/nearest.ts"
import { countOf, formatProblems, isProblemFormat, problemFormats } from "../../spec/config/problem.ts"
import { contained, ignore, nobody } from "../services/contained.ts"
import { Defects } from "../services/defects.ts"
import { Log } from "../services/log.ts"
import { Metrics } from "../services/metrics.ts"
import { commandSummaries, isCommand } from "./commands/names.ts"
import { proxyExamples, proxyOptionRows, proxyOptions } from "./commands/options.ts"
import { standard } from "./configuration/distribution.ts"
import { findings, verdict } from "./configuration/findings.ts"
import { portOptions, ports } from "./configuration/ports.ts"
import { InvalidConfiguration } from "./configuration/snapshot.ts"
import {
  type ConfigurationSource,
  configurationText,
  defaultFile,
  defaultPath,
  fromFile,
  fromText
} from "./configuration/source.ts"
import { codesText, proxyCodes } from "./exit-codes.ts"
import { onHangUp } from "./proxy/hang-up.ts"
import { onNpxGone } from "./proxy/npx-gone.ts"
import { run } from "./proxy/run.ts"
import { startingLog } from "./proxy/starting-log.ts"
import { telemetry } from "./proxy/telemetry.ts"
import { version } from "./version.ts"

// A stack is worth its cost in development alone.
if (version.build_profile === "release") Error.stackTraceLimit = 0

/** Two columns, the second of which goes on below itself. */
const rows = (pairs: ReadonlyArray<readonly [string, string]>, width: number): string =>
  pairs
    .map(([left, right]) => {
      const lines = right.match(/.{1,98}(?= |$)/g)!.map((line) => line.trimStart())
      return `  ${left.padEnd(width)}  ${lines.join(`\n${" ".repeat(width + 4)}`)}`
    })
    .join("\n")

const usage = `headgate: a gateway for MCP servers, LLM providers, A2A agents and plain HTTP

usage: headgate [-f FILE | -c TEXT] [--validate-only] [--format FORMAT] [-V | --version]
       headgate COMMAND …

commands, each with a --help of its own; they serve on this machine alone:
${rows(Object.entries(commandSummaries), 18)}

options:
${rows(proxyOptionRows(), 18)}

examples:
${rows(proxyExamples, 41)}

exit codes:
${codesText(proxyCodes)}
`

const fail = (message: string, code: number): never => {
  process.stderr.write(`${message}\n`)
  process.exit(code)
}

/** What is wrong with the command line, in one sentence. A word of its own is most likely the file. */
const misused = (error: unknown): string => {
  const word = process.argv.slice(2).find((each) => !each.startsWith("-"))
  const isWord = error instanceof Error && "code" in error && error.code === "ERR_PARSE_ARGS_UNEXPECTED_POSITIONAL"
  if (isWord && word !== undefined) {
    const meant = existsSync(word) ? undefined : nearest(word, Object.keys(commandSummaries))
    return meant === undefined
      ? `a configuration file is named with -f: headgate -f ${word}`
      : `${word} is no command, did you mean ${meant}? A configuration file is named with -f`
  }
  const [sentence] = (error instanceof Error ? error.message : String(error)).split(". ")
  return sentence!
}

const isCommanded = isCommand(process.argv[2])

const options = (() => {
  if (isCommanded) return {}
  try {
    return parseArgs({ options: proxyOptions }).values
  } catch (error) {
    return fail(`${misused(error)}; headgate --help shows what there is`, 1)
  }
})()

if (options.help === true) {
  process.stdout.write(usage)
  process.exit(0)
}
if (options.V === true) {
  process.stdout.write(`${version.version}\n`)
  process.exit(0)
}
if (options.version === true) {
  process.stdout.write(`${JSON.stringify(version, null, 2)}\n`)
  process.exit(0)
}
if (options.file !== undefined && options.config !== undefined) fail("only one of --config or --file", 1)

const asked = options.format ?? "text"
const format = isProblemFormat(asked) ? asked : fail(`--format is one of ${problemFormats.join(", ")}`, 1)

const source: Effect.Effect<ConfigurationSource, { readonly message: string }> =
  options.file !== undefined
    ? Effect.succeed(fromFile(options.file))
    : options.config !== undefined
      ? Effect.succeed(fromText(options.config))
      : defaultFile(process.env)

/** Checking makes no file: where there is none, there is nothing that could be wrong. */
const existing = Effect.gen(function* () {
  if (options.file !== undefined || options.config !== undefined) return yield* source
  const path = yield* Effect.option(defaultPath(process.env))
  return Option.isSome(path) && existsSync(path.value) ? fromFile(path.value) : undefined
})

const validate = Effect.gen(function* () {
  const found = yield* existing
  if (found === undefined) {
    process.stdout.write("No local configuration\nConfiguration is valid!\n")
    return
  }
  const problems = yield* findings(configurationText(found, yield* found.read))
  // A reader who has seen enough changes nothing in the verdict.
  process.stderr.on("error", ignore)
  if (problems.length > 0) process.stderr.write(`${formatProblems(format, problems)}\n`)
  if (problems.length > 0 && format === "text") process.stderr.write(`${countOf(problems)}\n`)
  const { said, exitCode } = verdict(problems)
  if (said !== undefined) process.stdout.write(`${said}\n`)
  process.exitCode = exitCode
})

/**
 * Ends when the process was told to by a signal, or when the launcher or npx that started it is gone. Goes on listening to signals:
 * one that comes again before somebody else listens would end the process without draining.
 */
const signalled = Effect.callback<void>((resume) => {
  const onSignal = () => resume(Effect.void)
  for (const name of ["SIGTERM", "SIGINT", "disconnect"] as const) process.on(name, onSignal)
  const stop = onNpxGone(process.env, onSignal)
  return Effect.sync(stop)
})

/** Asks for a reading anew, or, when the terminal is gone, for the end. A hundred more while one goes on are one more. */
const hungUp = Effect.gen(function* () {
  const asked = yield* Queue.sliding<"reload" | "end">(1)
  const told = (what: "reload" | "end") => () => {
    Queue.offerUnsafe(asked, what)
  }
  yield* Effect.acquireRelease(
    Effect.sync(() => onHangUp({ reload: told("reload"), end: told("end") })),
    (stop) => Effect.sync(stop)
  )
  return asked
})

/** How long the reader of the log has to take the last lines, and whoever does not want to wait gives it. */
const lastLines = 3_000
const lastLinesInHaste = 250

const starting = startingLog(process.env)
const exit = (code: number, millis = lastLines) => {
  starting.drained(millis).then(() => process.exit(code))
}

/** READY_FD: whoever started the process waits for the end of this pipe. */
const tellReady = () => {
  const descriptor = process.env["READY_FD"]
  if (descriptor !== undefined && /^[0-9]{1,5}$/.test(descriptor) && Number(descriptor) > 2)
    closeSync(Number(descriptor))
}

const serve = Effect.fnUntraced(function* (found: ConfigurationSource) {
  const services = Layer.provideMerge(
    ports(yield* portOptions(process.env)),
    Layer.mergeAll(ConsoleLog.layer(starting), Prometheus.layer())
  )
  yield* Effect.scoped(
    Effect.gen(function* () {
      const scope = yield* Effect.scope
      starting.watched(yield* Metrics, yield* Log)
      const sent = yield* telemetry(process.env)
      const hangUps = yield* hungUp
      const { log } = yield* Log
      if (found.note !== undefined) log("info", "proxy", found.note)
      const running = yield* run({ distribution: standard, source: found, env: process.env, ...sent })
      tellReady()
      // Else it is written at the end, if that is an orderly one, and without what has not run for long.
      flushCompileCache()
      // The last line of defence: before this one the program has not started, and ends (docs/decisions/contained-callbacks.md).
      const tell = yield* Defects
      const uncaught = contained(nobody, (cause: unknown) => tell("process", cause))
      process.on("uncaughtException", uncaught)
      const terminalGone = Effect.gen(function* () {
        while ((yield* Queue.take(hangUps)) === "reload") {
          log("info", "proxy", "SIGHUP: reading the configuration anew")
          yield* running.reread
        }
      })
      yield* Effect.raceAllFirst([signalled, running.shutdownRequested, terminalGone])
      log("info", "proxy", "shutting down")
      // Whoever asks twice does not want to wait. But under npm, one Ctrl-C arrives twice: from the terminal and from npm.
      const asked = performance.now()
      const again = (code: number) => () => {
        if (performance.now() - asked > 500) exit(code, lastLinesInHaste)
      }
      process.on("SIGINT", again(130))
      process.on("SIGTERM", again(143))
      yield* running.drain
      yield* Scope.close(scope as Scope.Closeable, Exit.void)
    })
  ).pipe(Effect.provide(services))
})

const reasonOf = (error: unknown): string =>
  error instanceof InvalidConfiguration
    ? format === "text"
      ? error.message
      : formatProblems(format, error.problems)
    : error instanceof Error
      ? error.message
      : String(error)

const commanded = Effect.gen(function* () {
  const [{ headgate }, NodeServices] = yield* Effect.promise(() =>
    Promise.all([import("./commands/root.ts"), import("@effect/platform-node/NodeServices")])
  )
  yield* headgate(process.argv.slice(2), serve).pipe(Effect.provide(NodeServices.layer))
})

const main = isCommanded ? commanded : options["validate-only"] === true ? validate : Effect.flatMap(source, serve)

Effect.runPromise(main).then(
  () => {
    // A check leaves nothing open, and whoever reads what it found may take his time.
    if (options["validate-only"] !== true) exit(Number(process.exitCode ?? 0))
  },
  (error: unknown) => {
    process.stderr.write(`${reasonOf(error)}\n`)
    exit(1)
  }
)
