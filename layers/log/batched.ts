/** Writes log lines in batches: all of a turn of the event loop leave in one system call, and none waits longer. */

import { contained, nobody } from "../../src/services/contained.ts"

export interface BatchedWriter {
  readonly write: (line: string) => void
  /** Writes what is still held: before the process ends. */
  readonly flush: () => void
}

/** More than this is written at once, whatever the turn. */
const batchSize = 64 * 1024

/** @param sink takes whole lines; what it does with a full disk or a closed pipe is its own affair. */
export const batched = (sink: (text: string) => void): BatchedWriter => {
  let held = ""
  const flush = contained(nobody, () => {
    if (held === "") return
    const text = held
    held = ""
    sink(text)
  })
  return {
    flush,
    write: (line) => {
      if (held === "") setImmediate(flush)
      held += line
      if (held.length > batchSize) flush()
    }
  }
}
