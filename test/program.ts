/** The programs as their users run them: processes of their own, with what they print. */
import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { createConnection, createServer } from "node:net"
import { dirname, join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"

export const root = dirname(import.meta.dirname)

export interface Program extends AsyncDisposable {
  readonly child: ChildProcess
  /** What was printed so far, standard output and errors as they came. */
  readonly printed: () => string
  /** Waits for a line; fails when the program ends before, or does not say it within 20 seconds. */
  readonly says: (line: RegExp) => Promise<RegExpMatchArray>
  /** Sends a signal to the program and to all that it started, as a terminal does. */
  readonly signal: (name: NodeJS.Signals) => void
  /** The code or the signal that it ended with. */
  readonly ended: Promise<number | NodeJS.Signals>
}

/** Waits until something holds. */
export const until = async (what: string, holds: () => boolean | Promise<boolean>, millis = 20_000): Promise<void> => {
  const start = performance.now()
  while (!(await holds())) {
    if (performance.now() - start > millis) throw new Error(`it did not happen within ${millis} ms: ${what}`)
    await sleep(20)
  }
}

/** Whether somebody listens on a port of this machine. */
export const accepts = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = createConnection(port, "localhost", () => {
      socket.destroy()
      resolve(true)
    })
    socket.on("error", () => resolve(false))
  })

export const startProgram = (
  command: string,
  args: ReadonlyArray<string>,
  env: Readonly<Record<string, string>> = {},
  cwd = root
): Program => {
  const child = spawn(command, args, {
    cwd,
    // A test runner's own settings are not the user's.
    env: { PATH: process.env["PATH"], HOME: process.env["HOME"], ...env },
    stdio: ["ignore", "pipe", "pipe"],
    detached: true
  })
  let printed = ""
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (text: string) => {
      printed += text
    })
  const ended = once(child, "close").then(([code, signal]) => code ?? signal)
  const running = () => child.exitCode === null && child.signalCode === null
  const signal = (name: NodeJS.Signals) => {
    try {
      process.kill(-child.pid!, name)
    } catch {
      // The group is gone already.
    }
  }
  const says = async (line: RegExp) => {
    await until(String(line), () => line.test(printed) || !running()).catch(() => {})
    const found = printed.match(line)
    if (found === null) throw new Error(`${running() ? "so far" : "the program ended, and"} no ${line} in:\n${printed}`)
    return found
  }
  return {
    child,
    printed: () => printed,
    says,
    signal,
    ended,
    [Symbol.asyncDispose]: async () => {
      signal("SIGKILL")
      await ended
    }
  }
}

/** The proxy with a configuration, and every management server on a port of the system's choice. */
export const startHeadgate = async (
  args: ReadonlyArray<string>,
  env: Readonly<Record<string, string>> = {},
  cwd = root
): Promise<Program> => {
  const program = startProgram(
    process.execPath,
    [join(root, "bin/headgate.mjs"), ...args],
    { ADMIN_ADDR: "127.0.0.1:0", STATS_ADDR: "127.0.0.1:0", READINESS_ADDR: "127.0.0.1:0", ...env },
    cwd
  )
  try {
    await program.says(/component=admin/)
    return program
  } catch (error) {
    await program[Symbol.asyncDispose]()
    throw error
  }
}

/** Ports of the quickstart are fixed. Whoever runs it holds this one meanwhile, so that tests take turns. */
const turnstile = 39_871

/** Runs the quickstart as the README says, and waits until it is ready. */
export const startQuickstart = async (): Promise<Program> => {
  const turn = createServer()
  await until("the turn of this test to run the quickstart", () => {
    const { promise, resolve } = Promise.withResolvers<boolean>()
    turn.once("error", () => resolve(false))
    turn.listen(turnstile, "127.0.0.1", () => resolve(true))
    return promise
  })
  turn.removeAllListeners("error")
  const program = startProgram("npm", ["start"])
  const dispose = async () => {
    await program[Symbol.asyncDispose]()
    await new Promise((resolve) => turn.close(resolve))
  }
  try {
    await program.says(/\ttry: .*\n.*\ttry: .*\n/)
  } catch (error) {
    await dispose()
    throw error
  }
  return { ...program, [Symbol.asyncDispose]: dispose }
}

/** Runs a line of a shell to its end. */
export const shell = async (line: string): Promise<{ readonly code: number; readonly output: string }> => {
  const child = spawn("sh", ["-c", line], { cwd: root, stdio: ["ignore", "pipe", "pipe"] })
  let output = ""
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (text: string) => {
      output += text
    })
  const [code] = await once(child, "close")
  return { code, output }
}
