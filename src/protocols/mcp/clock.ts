/** The clock of the process. Its timers do not keep a process alive that has nothing else to do. */
import { laterIfAlive } from "../../services/timer.ts"
import type { McpClock } from "./contract.ts"

/** Milliseconds since the process began. */
export const processClock: McpClock = {
  now: () => performance.now(),
  after: laterIfAlive
}
