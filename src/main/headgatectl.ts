/** headgatectl, the command-line tool: traces requests of a running proxy, and shows what a configuration means. */
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Effect } from "effect"
import { headgatectl } from "./ctl/root.ts"

headgatectl(process.argv.slice(2)).pipe(Effect.provide(NodeServices.layer), NodeRuntime.runMain)
