/** headgatectl, the command-line tool: traces requests of a running proxy, and shows what a configuration means. */
import { version } from "./version.ts"

const [command, ...others] = process.argv.slice(2)
// Scripts ask for it often, and need nothing of the tool for it.
if (command === "version" && others.length === 0) process.stdout.write(`${version.version}\n`)
// Nothing is waited for: in the single executable nothing can be.
else import("./ctl/main.ts")
