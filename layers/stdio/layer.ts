/** The port `McpStdio` over child processes: caps per backend and client, and no process that outlives us. */
import { Effect, Layer } from "effect"
import { contained, nobody } from "../../src/services/contained.ts"
import { containerOf, Defects } from "../../src/services/defects.ts"
import { McpStdio, type McpStdioOwner } from "../../src/services/mcp-stdio.ts"
import type { TargetFailure } from "../../src/services/mcp-transport.ts"
import { makeGuardian } from "./guardian.ts"
import type { ProcessGroup } from "./process-group.ts"
import { type StdioLimits, startTransport } from "./transport.ts"

/** Caps and limits of all children of this process. */
export interface StdioOptions extends StdioLimits {
  /** Processes that one principal may have of one backend. */
  readonly perPrincipal: number
  /** What `process.platform` says. */
  readonly platform: NodeJS.Platform
  /** Standard error of the children, line by line. */
  readonly log: (owner: McpStdioOwner, line: string) => void
}

/** 16 MiB a line and in the queue, 2 seconds of grace, 32 children a principal, no log. */
export const defaultStdioOptions: StdioOptions = {
  lineBytes: 16 * 1024 * 1024,
  queuedBytes: 16 * 1024 * 1024,
  graceMillis: 2_000,
  perPrincipal: 32,
  platform: process.platform,
  log: () => {}
}

/** A group of processes is what Windows does not have: what a server starts would outlive it, and us. */
const refusedOnWindows =
  "child processes are not served on Windows, where they could not be ended with all that they start: run headgate in WSL, or the server by itself behind mcp: { host: … }"

const busy = (whose: string, bound: string): TargetFailure => ({
  _tag: "TargetBusy",
  status: 503,
  message: `too many stdio processes of this ${whose} (${bound})`
})

class Counter {
  readonly #counts = new Map<string, number>()
  of(key: string): number {
    return this.#counts.get(key) ?? 0
  }
  add(key: string, by: 1 | -1): void {
    const count = this.of(key) + by
    if (count === 0) this.#counts.delete(key)
    else this.#counts.set(key, count)
  }
}

/** Asks all groups to end, and waits for them, but not longer than `millis`. */
const stopAll = async (groups: ReadonlySet<ProcessGroup>, millis: number): Promise<void> => {
  for (const group of groups) group.stop()
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, millis)
  })
  await Promise.race([late, Promise.all([...groups].map((group) => group.ended))])
  clearTimeout(timer)
}

/** What is to be done when this process ends: one listener for however many proxies run in it. */
const atExit = new Set<() => void>()
const exiting = contained(nobody, () => {
  for (const end of atExit) end()
})

const beforeExit = (end: () => void) => {
  if (atExit.size === 0) process.once("exit", exiting)
  atExit.add(end)
}

const notBeforeExit = (end: () => void) => {
  atExit.delete(end)
  if (atExit.size === 0) process.off("exit", exiting)
}

/** Children end with the scope; at the latest with this process. */
export const layer = (options: Partial<StdioOptions> = {}): Layer.Layer<McpStdio> =>
  Layer.effect(
    McpStdio,
    Effect.gen(function* () {
      const settings: StdioOptions = { ...defaultStdioOptions, ...options }
      const tell = yield* Defects
      const guardian = makeGuardian(containerOf(tell, "child"))
      const groups = new Set<ProcessGroup>()
      const backends = new Counter()
      const clients = new Counter()
      const killAll = contained(nobody, () => {
        for (const group of groups) group.kill()
      })
      beforeExit(killAll)
      yield* Effect.addFinalizer(() =>
        Effect.map(
          Effect.promise(() => stopAll(groups, 2.5 * settings.graceMillis)),
          () => {
            notBeforeExit(killAll)
            killAll()
            guardian.close()
          }
        )
      )
      return {
        ...(settings.platform === "win32" ? { refusal: refusedOnWindows } : {}),
        open: (command, owner, events) => {
          const anonymous = owner.principal === ""
          // Clients are told apart per backend: one crowded backend must not lock its users out of another.
          const client = JSON.stringify([owner.backend, owner.principal, anonymous ? owner.network : ""])
          if (backends.of(owner.backend) >= owner.most) return busy("backend", `maxChildren: ${owner.most}`)
          const most = anonymous ? owner.mostOfNetwork : settings.perPrincipal
          if (clients.of(client) >= most)
            return anonymous
              ? busy("address", `maxSessionsPerAddress allows ${most}`)
              : busy("principal", `at most ${most}`)
          const started = startTransport(
            command,
            settings,
            guardian,
            tell,
            events,
            () => {
              if (!("_tag" in started)) groups.delete(started.group)
              backends.add(owner.backend, -1)
              clients.add(client, -1)
            },
            (line) => settings.log(owner, line)
          )
          if ("_tag" in started) return started
          backends.add(owner.backend, 1)
          clients.add(client, 1)
          groups.add(started.group)
          return started.transport
        }
      }
    })
  )
