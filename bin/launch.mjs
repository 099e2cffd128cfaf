// Checks the runtime before anything of the program is loaded, and hands over to the one that came with the package's
// own dependencies when the system's is too old.

// An import of one of these makes a namespace of all that it has, which takes longer than all that is done here.
const builtin = process.getBuiltinModule ?? (await import("node:module")).createRequire(import.meta.url)
const { existsSync, mkdirSync, statSync } = builtin("node:fs")
const { dirname, join } = builtin("node:path")
const { fileURLToPath, pathToFileURL } = builtin("node:url")

const needed = 24
// A collection of the young generation copies what survives, and when a large configuration is taken over nearly all of it
// does: in the 32 MiB that it grows to by itself that takes up to 30 ms, in 8 MiB a quarter of it, for 1 % of the time of requests.
export const runtimeFlags = ["--max-semi-space-size=8"]
const sized = /--max[-_]semi[-_]space[-_]size/
const root = dirname(dirname(fileURLToPath(import.meta.url)))

/** @param {"headgate" | "headgatectl"} program */
export const launch = async (program) => {
  const found = Number(process.versions.node.split(".")[0])
  const source = join(root, "src", "main", `${program}.ts`)
  const bundle = join(root, "programs", `${program}.mjs`)
  const entry = existsSync(source) ? source : bundle
  const chosen = [process.env.NODE_OPTIONS ?? "", ...process.execArgv].some((text) => sized.test(text))
  const flags = program === "headgate" && !chosen ? runtimeFlags : []
  const cache = entry === bundle ? codeCache() : undefined
  if (cache) process.env.NODE_COMPILE_CACHE = cache
  if (found >= needed) {
    if (flags.length > 0) beginAnew([...process.execArgv, ...flags, entry, ...process.argv.slice(2)])
    process.argv[1] = entry
    if (cache) builtin("node:module").enableCompileCache(cache)
    // On Windows a path begins with what would be read as a scheme.
    await import(pathToFileURL(entry).href)
    return
  }
  const pinned = join(root, "node_modules", ".bin", "node")
  if (!existsSync(pinned)) {
    console.error(
      `${program} needs Node ${needed} or newer, and this is Node ${process.versions.node}. ` +
        `Install it, or run: npx -p node@${needed} ${program}`
    )
    process.exit(1)
  }
  // The channel tells the program when this process is gone, however it ended.
  const stdio = program === "headgate" ? ["inherit", "inherit", "inherit", "ipc"] : "inherit"
  const child = builtin("node:child_process").spawn(pinned, [...flags, entry, ...process.argv.slice(2)], { stdio })
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal))
  child.on("exit", (code, signal) => process.exit(signal === null ? (code ?? 1) : 1))
}

/**
 * Compiled code is kept in the user's cache folder, so that the next start need not compile it again; where that cannot be
 * written, it does. Nowhere else: what others can write, they can fill with code of theirs.
 */
const codeCache = () => {
  if (process.env.NODE_COMPILE_CACHE !== undefined) return process.env.NODE_COMPILE_CACHE
  const { XDG_CACHE_HOME, HOME, LOCALAPPDATA } = process.env
  // Windows has a folder of each user for this, and seldom a HOME.
  const caches = XDG_CACHE_HOME || (HOME && join(HOME, ".cache")) || LOCALAPPDATA
  if (!caches) return undefined
  const folder = join(caches, "headgate", "code")
  return [caches, dirname(folder), folder].every(isOurs) ? folder : undefined
}

/**
 * Whether nobody else can write there: who starts the proxy may have somebody else's home, and a cache may be everybody's.
 * Made one by one: the runtime tries for ever to make a folder with all above it where none can be made, as below `/proc`.
 */
const isOurs = (folder) => {
  try {
    if (!existsSync(folder)) mkdirSync(folder, { mode: 0o700 })
    const { uid, mode } = statSync(folder)
    return process.getuid === undefined || (uid === process.getuid() && (mode & 0o022) === 0)
  } catch {
    // It cannot be made, or leads nowhere.
    return false
  }
}

/** The heap is laid out before any program runs, so the same process begins anew, where it can and nobody is attached to it. */
const beginAnew = (args) => {
  const attached = process.channel !== undefined || process.execArgv.some((arg) => arg.startsWith("--inspect"))
  if (attached || process.execve === undefined || process.platform === "win32") return
  try {
    process.execve(process.execPath, [process.execPath, ...args])
  } catch {
    // It may be forbidden. The size is a matter of speed alone.
  }
}
