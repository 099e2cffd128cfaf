/** The clock of the process. Its timers do not keep a process alive that has nothing else to do. */
import type { McpClock } from "./contract.ts"

/** Milliseconds since the process began. */
export const processClock: McpClock = {
  now: () => performance.now(),
  after: (millis, action) => {
    const timer = setTimeout(action, millis)
    timer.unref()
    return () => clearTimeout(timer)
  }
}
