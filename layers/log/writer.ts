/** Writes to a descriptor what waits in a ring, and knows what of it was taken: nothing is written twice. */
import { writeSync } from "node:fs"
import type { Ring } from "./ring.ts"

/** What came of it: everything was written, or there is no room now, or the system refuses. */
export type Written = "all" | "blocked" | "failed"

/** Bytes of one write: of a slow disk it is known from time to time what it took. */
const most = 256 * 1024

/** Milliseconds for which lines are gathered, so that many leave in one write. */
export const gathering = 5
/** Milliseconds until a full disk is tried again. */
export const patience = 1000

/** How long to wait before the next write. */
export const pauseAfter = (written: Written): number => (written === "failed" ? patience : gathering)

export const writeFrom = (ring: Ring, descriptor: number): Written => {
  while (ring.waiting > 0) {
    try {
      const taken = writeSync(descriptor, ring.next(most))
      if (taken === 0) return "blocked"
      ring.take(taken)
    } catch (error) {
      const code = error instanceof Error && "code" in error ? error.code : undefined
      if (code === "EAGAIN") return "blocked"
      if (code === "EINTR") continue
      ring.fail()
      return "failed"
    }
  }
  return "all"
}
