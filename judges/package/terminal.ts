/** Programs in terminals of their own, which Debian's `script` makes, and without any. */
import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { existsSync, readFileSync } from "node:fs"
import { createConnection } from "node:net"
import { setTimeout as sleep } from "node:timers/promises"

/** How long anything may take, in milliseconds. */
const patience = 20_000

/** Whether it came about in time. */
export const until = async (holds: () => boolean | Promise<boolean>): Promise<boolean> => {
  const end = performance.now() + patience
  while (performance.now() < end) {
    if (await holds()) return true
    await sleep(50)
  }
  return false
}

export const accepts = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = createConnection(port, "127.0.0.1", () => {
      socket.destroy()
      resolve(true)
    })
    socket.on("error", () => resolve(false))
  })

export const isAlive = (pid: number): boolean => {
  try {
    // One that has ended and that nobody has asked about is still there, as `Z`.
    return !/^\S+ \(.*\) Z/.test(readFileSync(`/proc/${pid}/stat`, "utf8"))
  } catch {
    return false
  }
}

/** What runs, the file with all that it says, and the file with its number. */
export interface Placed {
  readonly outer: ChildProcess
  readonly log: string
  readonly pid: () => number
}

const quoted = (word: string) => `'${word.replaceAll("'", "'\\''")}'`

/** A shell line that tells its number, and then becomes the program. */
const line = (command: ReadonlyArray<string>, log: string, pid: string) =>
  `echo $$ > ${quoted(pid)}; exec ${command.map(quoted).join(" ")} > ${quoted(log)} 2>&1`

const placed = (outer: ChildProcess, log: string, pid: string): Placed => ({
  outer,
  log,
  pid: () => (existsSync(pid) ? Number(readFileSync(pid, "utf8")) : 0)
})

/** In a terminal that goes when `outer` is killed. */
export const inTerminal = (command: ReadonlyArray<string>, log: string): Placed => {
  const pid = `${log}.pid`
  const args = ["-q", "-e", "-c", line(command, log, pid), "/dev/null"]
  return placed(spawn("script", args, { stdio: ["pipe", "ignore", "ignore"] }), log, pid)
}

/** In a session without a terminal. */
export const withoutTerminal = (
  command: ReadonlyArray<string>,
  log: string,
  env: NodeJS.ProcessEnv = process.env
): Placed => {
  const pid = `${log}.pid`
  const args = ["-c", line(command, log, pid)]
  return placed(spawn("sh", args, { stdio: "ignore", detached: true, env }), log, pid)
}

/** Ends what may still be there. */
export const clear = async ({ outer, pid }: Placed): Promise<void> => {
  if (outer.exitCode === null && outer.signalCode === null) {
    outer.kill("SIGKILL")
    await once(outer, "exit")
  }
  const left = pid()
  if (left > 0 && isAlive(left)) process.kill(left, "SIGKILL")
}
