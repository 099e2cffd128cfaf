/**
 * The single executable: both programs in one file. It is the command-line tool when it is called by that name, as by a link,
 * or when its first word is `ctl`; else it is the proxy.
 */
import { basename } from "node:path"

const isNamed = basename(process.argv0) === "headgatectl"
const isAsked = !isNamed && process.argv[2] === "ctl"
if (isAsked) process.argv.splice(2, 1)
// An executable is a script: it cannot wait for a module, and a failure ends it all the same.
if (isNamed || isAsked) import("./headgatectl.ts")
else import("./headgate.ts")
