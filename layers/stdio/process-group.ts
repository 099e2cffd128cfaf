/**
 * A child process with everything it starts: it leads a process group of its own, and the whole group is ended when the
 * child ends or is stopped. A command like `npx` leaves its server behind otherwise.
 */
import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process"
import { type Container, contained, ignore } from "../../src/services/contained.ts"
import { containerOf, type TellDefect } from "../../src/services/defects.ts"
import type { McpStdioCommand } from "../../src/services/mcp-stdio.ts"
import type { Guardian } from "./guardian.ts"

/** What a program needs to run at all: the list of the official SDKs. The keys of providers are no business of a server. */
const ordinary =
  process.platform === "win32"
    ? [
        "APPDATA",
        "HOMEDRIVE",
        "HOMEPATH",
        "LOCALAPPDATA",
        "PATH",
        "PATHEXT",
        "PROCESSOR_ARCHITECTURE",
        "PROGRAMFILES",
        "SYSTEMDRIVE",
        "SYSTEMROOT",
        "TEMP",
        "USERNAME",
        "USERPROFILE"
      ]
    : ["HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER"]

const environment = (command: McpStdioCommand, own: NodeJS.ProcessEnv): NodeJS.ProcessEnv => {
  if (command.clearEnv) return command.env
  const inherited: NodeJS.ProcessEnv = {}
  for (const name of [...ordinary, ...command.inheritEnv]) if (own[name] !== undefined) inherited[name] = own[name]
  return { ...inherited, ...command.env }
}

/** A running child and its group. */
export interface ProcessGroup {
  readonly child: ChildProcessWithoutNullStreams
  /** What its callbacks belong to. */
  readonly container: Container
  /** Closes standard input, then SIGTERM, then SIGKILL to the group, each after the grace time. */
  readonly stop: () => void
  /** SIGKILL to the group, now. */
  readonly kill: () => void
  /** The child is gone. */
  readonly ended: Promise<void>
}

/** Why there is no child: some failures are known at once, and leave not even its streams. */
const spawned = (command: McpStdioCommand): ChildProcessWithoutNullStreams | NodeJS.ErrnoException => {
  try {
    const child = spawn(command.cmd, command.args, {
      detached: true,
      env: environment(command, process.env),
      stdio: ["pipe", "pipe", "pipe"],
      windowsHide: true
    })
    if (child.stdin !== undefined) return child
    // It also says so by itself, later.
    child.on("error", ignore)
    return Object.assign(new Error("no file descriptor is left"), { code: "EMFILE" })
  } catch (cause) {
    return cause instanceof Error ? cause : new Error(String(cause))
  }
}

/**
 * `onGone` runs once, later, when the child has ended and its output was read, or when it could not be started. What is
 * known at once to have failed is returned instead.
 */
export const startProcessGroup = (
  command: McpStdioCommand,
  graceMillis: number,
  guardian: Guardian,
  tell: TellDefect,
  onGone: (error: Error | undefined) => void
): ProcessGroup | NodeJS.ErrnoException => {
  const child = spawned(command)
  if (child instanceof Error) return child
  const { pid } = child
  let gone = false
  let stopping = false
  const timers: Array<NodeJS.Timeout> = []

  /** `false`: nobody of the group is left. */
  const signal = (name: NodeJS.Signals): boolean => {
    if (pid === undefined) return false
    try {
      process.kill(-pid, name)
      return true
    } catch {
      return false
    }
  }
  // What is thrown on behalf of a child ends the child.
  const container = containerOf(tell, "child", () => signal("SIGKILL"))
  const later = (action: () => void) => {
    timers.push(setTimeout(contained(container, action), graceMillis))
  }
  const { promise: ended, resolve } = Promise.withResolvers<void>()
  const finish = contained(container, (error: Error | undefined) => {
    if (gone) return
    gone = true
    // A grandchild that has left the group may hold the other ends for long.
    child.stdout.destroy()
    child.stderr.destroy()
    resolve()
    onGone(error)
  })
  /** The leader is gone: the rest of its group has no reason to live. */
  const clear = () => {
    if (pid === undefined) return
    for (const timer of timers) clearTimeout(timer)
    if (!signal("SIGTERM")) guardian.release(pid)
    else
      later(() => {
        signal("SIGKILL")
        guardian.release(pid)
      })
  }

  if (pid !== undefined) guardian.watch(pid)
  const exited = contained(container, () => {
    clear()
    // A grandchild may hold the pipes open: then `close` comes only with its end.
    later(() => finish(undefined))
  })
  const closed = contained(container, () => finish(undefined))
  child.stdin.on("error", ignore)
  child.on("error", finish).on("exit", exited).on("close", closed)

  return {
    child,
    container,
    ended,
    stop: () => {
      if (stopping || child.exitCode !== null || child.signalCode !== null) return
      stopping = true
      child.stdin.end()
      later(() => {
        signal("SIGTERM")
        later(() => signal("SIGKILL"))
      })
    },
    kill: () => {
      signal("SIGKILL")
    }
  }
}
