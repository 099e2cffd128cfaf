/** The process itself: its runtime, what its environment makes of it, its limits, and where its compiled code is kept. */
import { accessSync, constants, existsSync, statSync } from "node:fs"
import { dirname, join } from "node:path"
import { isSea } from "node:sea"
import { type Ailment, error, warning } from "./ailment.ts"
import type { Machine } from "./machine.ts"

/** The first Node that runs the programs; the launcher asks for it as well. */
const oldest = 24
const mebibyte = 2 ** 20

export const runtimeAilments = ({ runtime, env }: Machine): ReadonlyArray<Ailment> => {
  const found: Array<Ailment> = []
  const options = env["NODE_OPTIONS"] ?? ""
  if (Number(runtime.split(".")[0]) < oldest)
    found.push(error("runtime", `Node ${runtime} is too old`, `install Node ${oldest} or newer`))
  if (env["NODE_TLS_REJECT_UNAUTHORIZED"] === "0")
    found.push(
      error(
        "runtime",
        "NODE_TLS_REJECT_UNAUTHORIZED=0: no certificate of any server is verified",
        "unset it; name the authority of a server in backendTLS.root, or in NODE_EXTRA_CA_CERTS"
      )
    )
  if (/--inspect(?:-brk|-wait)?=(?!localhost\b|127\.|\[::1\]|\d+(?:\s|$))/.test(options))
    found.push(
      error(
        "runtime",
        "NODE_OPTIONS opens the debugger to other machines, and with it everything in the process",
        "remove --inspect, or give it no address"
      )
    )
  const authorities = env["NODE_EXTRA_CA_CERTS"] ?? ""
  if (authorities !== "" && !existsSync(authorities))
    found.push(
      error("runtime", `NODE_EXTRA_CA_CERTS names ${authorities}, which is not there`, "correct the path, or unset it")
    )
  return found
}

export const limitAilments = ({ openFiles, memory, heap }: Machine): ReadonlyArray<Ailment> => {
  const found: Array<Ailment> = []
  if (openFiles !== undefined && openFiles < 1024)
    found.push(
      warning(
        "limits",
        `the process may have ${openFiles} files and sockets open; a request takes two`,
        "raise the limit: ulimit -n 65536, or LimitNOFILE=65536 in the unit of systemd"
      )
    )
  if (memory !== undefined && memory < 256 * mebibyte)
    found.push(
      warning(
        "limits",
        `the process may use ${Math.floor(memory / mebibyte)} MiB of memory; it needs 180 at rest`,
        "give the container or the unit 512 MiB or more"
      )
    )
  if (heap < 256 * mebibyte)
    found.push(
      warning(
        "limits",
        `the heap may grow to ${Math.floor(heap / mebibyte)} MiB`,
        "raise --max-old-space-size in NODE_OPTIONS to 256 or more, or take it away"
      )
    )
  else if (memory !== undefined && heap > memory)
    found.push(
      warning(
        "limits",
        `the heap may grow to ${Math.floor(heap / mebibyte)} MiB, and the system ends the process at ${Math.floor(memory / mebibyte)}`,
        `set NODE_OPTIONS=--max-old-space-size=${Math.floor((memory / mebibyte) * 0.7)}`
      )
    )
  return found
}

/** Where the launcher keeps compiled code. */
const cacheOf = (env: Machine["env"]): string | undefined => {
  const caches = env["XDG_CACHE_HOME"] || (env["HOME"] ? join(env["HOME"], ".cache") : env["LOCALAPPDATA"] || undefined)
  return env["NODE_COMPILE_CACHE"] ?? (caches === undefined ? undefined : join(caches, "headgate", "code"))
}

/** The launcher runs what it finds there, so it takes a folder of its own choice only if nobody else could have put it there. */
const openToOthers = (folder: string): string | undefined =>
  [dirname(dirname(folder)), dirname(folder), folder].find((each) => {
    if (process.getuid === undefined || !existsSync(each)) return false
    const { uid, mode } = statSync(each)
    return uid !== process.getuid() || (mode & 0o022) !== 0
  })

export const cacheAilments = ({ env }: Machine): ReadonlyArray<Ailment> => {
  // A single executable has its compiled code inside.
  if (isSea()) return []
  const folder = cacheOf(env)
  if (folder === undefined || env["NODE_DISABLE_COMPILE_CACHE"] === "1")
    return [
      warning(
        "cache",
        folder === undefined
          ? "there is no folder for compiled code, so every start compiles anew"
          : "NODE_DISABLE_COMPILE_CACHE is set, so every start compiles anew",
        folder === undefined ? "set HOME or XDG_CACHE_HOME to a folder of this user, or NODE_COMPILE_CACHE" : "unset it"
      )
    ]
  let nearest = folder
  while (!existsSync(nearest)) nearest = dirname(nearest)
  const unusable = (why: string, remedy: string) => [
    warning("cache", `the folder for compiled code, ${folder}, cannot be used: ${why}`, remedy)
  ]
  const elsewhere = "name a folder of this user in NODE_COMPILE_CACHE"
  const found = statSync(nearest)
  if (!found.isDirectory()) return unusable(`${nearest} is a file`, elsewhere)
  try {
    accessSync(nearest, constants.W_OK | constants.X_OK)
  } catch {
    return unusable(`this user may not write ${nearest}`, elsewhere)
  }
  const open = env["NODE_COMPILE_CACHE"] === undefined ? openToOthers(folder) : undefined
  if (open !== undefined) return unusable(`others may write ${open}`, `chmod go-w ${open}, or ${elsewhere}`)
  return nearest === folder && (found.mode & 0o002) !== 0
    ? [error("cache", `everyone may write ${folder}, and what is there is run`, `chmod o-w ${folder}, and empty it`)]
    : []
}
