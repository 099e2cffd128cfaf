/** headgatectl, the command-line tool: traces requests of a running proxy, and shows what a configuration means. */
import { NodeRuntime, NodeServices } from "@effect/platform-node"
import { Effect } from "effect"
import { Command } from "effect/cli"
import { graphCommand } from "./ctl/graph.ts"
import { traceCommand } from "./ctl/trace.ts"
import { validateCommand } from "./ctl/validate.ts"
import { version } from "./version.ts"

const proxy = Command.make("proxy").pipe(
  Command.withDescription("Inspect a running proxy."),
  Command.withSubcommands([traceCommand])
)

const root = Command.make("headgatectl").pipe(
  Command.withDescription("Inspects Headgate proxies and their configurations."),
  Command.withSubcommands([proxy, graphCommand, validateCommand])
)

Command.run(root, { version: version.version }).pipe(Effect.provide(NodeServices.layer), NodeRuntime.runMain)
