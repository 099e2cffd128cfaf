/**
 * Somebody who follows a page of the documentation from an empty folder: writes its files, types its commands, and looks
 * whether what is printed is what the page says. Ports of the page are changed to free ones, so that readers of several
 * pages do not meet.
 */
import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { mkdirSync, writeFileSync } from "node:fs"
import { delimiter, dirname, join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { freePorts } from "../free-ports.ts"
import { until } from "../program.ts"
import { type Step, shows } from "./steps.ts"

/** How long a command may take, or something to be said, on a busy machine. */
const patience = 40_000

interface Terminal {
  readonly child: ChildProcess
  readonly ended: Promise<unknown>
  said: string
  /** Up to where a fence has shown what was said. */
  shown: number
}

/** Those that programs of this package take where nothing is said. */
const management = { ADMIN_ADDR: "15000", STATS_ADDR: "15020", READINESS_ADDR: "15021" }

/** What a page calls a port: a number where an address or a setting has one. */
const portsOf = (steps: ReadonlyArray<Step>): ReadonlyArray<string> => {
  const named = steps.flatMap(({ text }) =>
    [...text.matchAll(/(?:port"?:? |localhost:|127\.0\.0\.1:|[ "]:|port=|port\()([1-9]\d{3,4})\b/g)].map(
      ([, port]) => port!
    )
  )
  return [...new Set([...Object.values(management), ...named])]
}

export interface Reader {
  /** The folder that everything happens in; it exists and is empty. */
  readonly folder: string
  /** Where the programs are that the page installs. */
  readonly bin: string
}

/** Follows the steps to their end. Fails with the place of the first one that is not true. */
export const follow = async (steps: ReadonlyArray<Step>, { folder, bin }: Reader): Promise<void> => {
  const named = portsOf(steps)
  const free = await freePorts(named.length)
  const real = new Map(named.map((port, index) => [port, String(free[index])]))
  const asNamed = new Map([...real].map(([name, port]) => [port, name]))
  const exchange = (text: string, names: ReadonlyMap<string, string>) =>
    text.replace(new RegExp(`\\b(?:${[...names.keys()].join("|")})\\b`, "g"), (name) => names.get(name)!)

  const home = join(folder, ".home")
  mkdirSync(home)
  const env = {
    PATH: [bin, dirname(process.execPath), process.env["PATH"]].join(delimiter),
    HOME: home,
    XDG_CACHE_HOME: join(dirname(folder), ".cache"),
    ...Object.fromEntries(Object.entries(management).map(([name, port]) => [name, `localhost:${real.get(port)}`]))
  }
  const start = (text: string, flags: string): Terminal => {
    const child = spawn("sh", [flags, `exec 2>&1\n${exchange(text, real)}`], {
      cwd: folder,
      env,
      stdio: ["ignore", "pipe", "inherit"],
      detached: true
    })
    const terminal: Terminal = { child, ended: once(child, "close"), said: "", shown: 0 }
    child.stdout!.setEncoding("utf8").on("data", (said: string) => {
      terminal.said += said
    })
    return terminal
  }
  const end = async ({ child, ended }: Terminal, signals: ReadonlyArray<NodeJS.Signals>) => {
    for (const signal of signals) {
      if (child.exitCode !== null || child.signalCode !== null) break
      try {
        process.kill(-child.pid!, signal)
      } catch {
        // The group is gone already.
      }
      await Promise.race([ended, sleep(10_000, undefined, { ref: false })])
    }
  }

  const terminals = new Map<string, Terminal>()
  let last: { terminal: Terminal; name: string | undefined } | undefined

  const read = async ({ use, text }: Step): Promise<void> => {
    switch (use._tag) {
      case "Chart":
      case "Install":
      case "Judge":
        return
      case "File": {
        const file = join(folder, use.path)
        mkdirSync(dirname(file), { recursive: true })
        return writeFileSync(file, exchange(text, real))
      }
      case "Run": {
        const terminal = start(text, "-euc")
        last = { terminal, name: undefined }
        const ended = await Promise.race([terminal.ended, sleep(patience, undefined, { ref: false })])
        if (ended === undefined) await end(terminal, ["SIGKILL"])
        const status = terminal.child.exitCode
        if (status !== use.status) throw new Error(`exit code ${status}, not ${use.status}:\n${terminal.said}`)
        return
      }
      case "Terminal": {
        const before = terminals.get(use.name)
        if (before !== undefined) await end(before, ["SIGINT", "SIGKILL"])
        const terminal = start(text, "-uc")
        terminals.set(use.name, terminal)
        last = { terminal, name: use.name }
        return
      }
      case "Output": {
        const terminal = use.terminal === undefined ? last?.terminal : terminals.get(use.terminal)
        if (terminal === undefined) throw new Error("nothing was run that could have printed this")
        const goesOn = use.terminal !== undefined || last?.name !== undefined
        const said = () => {
          const all = exchange(terminal.said, asNamed)
          // The end of a line that is being printed is not there yet.
          return goesOn ? all.slice(terminal.shown, all.lastIndexOf("\n") + 1) : `${all.trimEnd()}\n`
        }
        const wanted = shows(text, goesOn ? "part" : "whole")
        const running = () => terminal.child.exitCode === null && terminal.child.signalCode === null
        if (goesOn) await until(text, () => wanted.test(said()) || !running(), patience).catch(() => {})
        const match = wanted.exec(said())
        if (match === null) throw new Error(`this was printed:\n${said()}\nnot:\n${text}`)
        terminal.shown += match.index + match[0].length
        return
      }
    }
  }

  try {
    for (const step of steps)
      await read(step).catch((error: Error) => {
        const logs = [...terminals].map(([name, { said }]) => `\nterminal ${name}:\n${said}`)
        throw new Error(`${step.place}: ${error.message}${logs.join("")}`, { cause: error })
      })
  } finally {
    await Promise.all([...terminals.values()].map((terminal) => end(terminal, ["SIGTERM", "SIGKILL"])))
  }
}
