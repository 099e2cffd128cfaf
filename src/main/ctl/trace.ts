/**
 * `headgatectl proxy trace`: shows the events of the next request, or of one that it sends itself. In watch mode it waits
 * for any client's request; with `-- URL …` it sends one as soon as the watcher is in place. A person at a terminal gets
 * an interactive view; a pipe gets lines.
 */
import { Console, Effect, Option, Stream } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { show as showAddress } from "../../../layers/http/address.ts"
import { openTrace } from "../admin/trace-client.ts"
import { adminAddress, adminPort, port } from "./admin-address.ts"
import { orExit } from "./failure.ts"
import { curl, curlArguments, InjectFailed } from "./inject.ts"
import { Operands } from "./operands.ts"
import { readTrace } from "./saved-trace.ts"
import { summary } from "./trace-summary.ts"

export const traceCommand = Command.make(
  "trace",
  {
    local: Flag.Boolean("local").pipe(
      Flag.withDefault(false),
      Flag.withDescription("Trace the proxy on this machine, as without it.")
    ),
    raw: Flag.Boolean("raw").pipe(
      Flag.withDefault(false),
      Flag.withDescription("Print each event as one line of JSON, as received.")
    ),
    namespace: Flag.String("namespace").pipe(
      Flag.withAlias("n"),
      Flag.optional,
      Flag.withDescription("Namespace of the gateway.")
    ),
    adminPort,
    port: Flag.Int("port").pipe(
      Flag.withSchema(port),
      Flag.optional,
      Flag.withDescription("Port of the listener that the request is sent to; default: the port of the URL.")
    ),
    file: Flag.String("file").pipe(
      Flag.withAlias("f"),
      Flag.optional,
      Flag.withDescription("Show a saved trace; - for standard input.")
    ),
    expression: Flag.String("expression").pipe(
      Flag.optional,
      Flag.withDescription("Trace the next request for which this CEL expression is true.")
    ),
    resource: Argument.String("gateway/name").pipe(
      Argument.optional,
      Argument.withDescription("The proxy to trace; default: the one on this machine.")
    )
  },
  (options) =>
    Effect.gen(function* () {
      const show = (json: string) => Console.log(options.raw ? json : summary(json))
      const person = !options.raw && process.stdout.isTTY && process.stdin.isTTY
      const screen = person ? yield* Effect.promise(() => import("./trace-screen/interactive.ts")) : undefined
      const inject = yield* Operands

      if (Option.isSome(options.file)) {
        const { local, resource, expression } = options
        if (local || inject !== undefined || Option.isSome(resource) || Option.isSome(expression))
          return yield* new InjectFailed({
            detail: "--file shows a saved trace: it goes with neither a proxy, nor a URL, nor --expression"
          })
        const saved = yield* readTrace(options.file.value)
        return screen !== undefined && options.file.value !== "-"
          ? yield* screen.interactive(options.file.value, "waiting", Stream.fromIterable(saved))
          : yield* Effect.forEach(saved, show, { discard: true })
      }
      if (!options.local && Option.isSome(options.resource))
        return yield* new InjectFailed({
          detail: /^https?:/.test(options.resource.value)
            ? `a request is written behind --: headgatectl proxy trace -- ${options.resource.value}`
            : "only the proxy on this machine can be traced so far: leave its name out"
        })

      const args = inject === undefined ? undefined : curlArguments(inject, Option.getOrUndefined(options.port))
      if (args instanceof InjectFailed) return yield* args
      const admin = yield* adminAddress(options.adminPort)
      // The request must not leave before the watcher is in place.
      const shown = Effect.gen(function* () {
        const events = yield* openTrace(admin, {
          expression: Option.getOrUndefined(options.expression)
        })
        // A request that fails to be sent will never be traced: its failure is the end.
        const all =
          args === undefined
            ? events
            : Stream.merge(events, Stream.drain(Stream.fromEffect(curl(args))), { haltStrategy: "left" })
        return screen !== undefined
          ? yield* screen.interactive(showAddress(admin), args === undefined ? "waiting" : "sent", all)
          : yield* Stream.runForEach(all, show)
      })
      return yield* Effect.scoped(shown)
    }).pipe(orExit())
).pipe(
  Command.withDescription(
    "Show the way of the next request through the proxy. With `-- URL`, and what else curl takes, send that request."
  ),
  Command.withExamples([
    { command: "headgatectl proxy trace", description: "The next request of any client" },
    { command: "headgatectl proxy trace -- http://localhost:3000/a", description: "A request that it sends itself" },
    { command: "headgatectl proxy trace --expression 'request.path.startsWith(\"/mcp\")' --raw > saved.jsonl" },
    { command: "headgatectl proxy trace -f saved.jsonl" }
  ])
)
