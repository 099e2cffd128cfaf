/** headgatectl, the command-line tool: traces requests of a running proxy, and shows what a configuration means. */
import { NodeRuntime, NodeServices } from "@effect/platform-node"
import { Effect } from "effect"
import { headgatectl } from "./ctl/root.ts"

headgatectl(process.argv.slice(2)).pipe(Effect.provide(NodeServices.layer), NodeRuntime.runMain)
