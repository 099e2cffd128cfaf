/** What the machine and the process are, as far as it matters: facts that a test can set. */
import { readFileSync } from "node:fs"
import { getHeapStatistics } from "node:v8"
import type { Environment } from "../../../spec/config/expand.ts"

export interface Machine {
  /** The version of Node. */
  readonly runtime: string
  readonly env: Environment
  /** How many files and sockets the process may have open; `undefined` where that is not known or has no limit. */
  readonly openFiles: number | undefined
  /** Bytes that the process may use before the system ends it; `undefined` where there is no such limit. */
  readonly memory: number | undefined
  /** Bytes that its heap may grow to. */
  readonly heap: number
  /** Milliseconds since 1970. */
  readonly now: () => number
}

const openFiles = (): number | undefined => {
  try {
    const found = /^Max open files\s+(\d+)/m.exec(readFileSync("/proc/self/limits", "utf8"))
    return found === null ? undefined : Number(found[1])
  } catch {
    return undefined
  }
}

/** This one. */
export const machine = (): Machine => {
  const memory = process.constrainedMemory()
  return {
    runtime: process.versions.node,
    env: process.env,
    openFiles: openFiles(),
    // No limit is a number beyond any memory.
    memory: memory === 0 || memory > 2 ** 50 ? undefined : memory,
    heap: getHeapStatistics().heap_size_limit,
    now: () => Date.now()
  }
}
