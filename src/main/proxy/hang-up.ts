/**
 * What SIGHUP means. Administrators send it to have the configuration read anew; the system sends it when the terminal of
 * the process is gone, and then nobody is left to serve. Under `nohup` it means nothing, but the runtime forgets that it
 * was told to ignore the signal, so it is told again.
 */
import { closeSync, openSync, readFileSync } from "node:fs"
import { basename } from "node:path"

const hasTerminal = (): boolean => {
  try {
    closeSync(openSync("/dev/tty", "r"))
    return true
  } catch {
    return false
  }
}

/** `nohup` names itself to what it starts, by way of the shell, and leaves it a standard input that cannot be read. */
const isImmune = (): boolean => {
  if (basename(process.env["_"] ?? "") === "nohup") return true
  try {
    const flags = /^flags:\s*([0-7]+)/m.exec(readFileSync("/proc/self/fdinfo/0", "utf8"))?.[1]
    return flags !== undefined && (Number.parseInt(flags, 8) & 3) === 1
  } catch {
    // There is no such file on this system.
    return false
  }
}

/** Listens to the signal until the returned function is called. */
export const onHangUp = (on: { readonly reload: () => void; readonly end: () => void }): (() => void) => {
  const immune = isImmune()
  const hadTerminal = hasTerminal()
  const onSignal = () => {
    if (immune) return
    if (hadTerminal && !hasTerminal()) on.end()
    else on.reload()
  }
  process.on("SIGHUP", onSignal)
  return () => {
    process.off("SIGHUP", onSignal)
  }
}
