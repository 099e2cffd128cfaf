/** The clock of the process. Its timers do not keep a process alive that has nothing else to do. */
import type { Container } from "../../services/contained.ts"
import { containedLaterIfAlive } from "../../services/timer.ts"
import type { McpClock } from "./contract.ts"

/** Milliseconds since the process began. */
export const processClock = (container: Container): McpClock => ({
  now: () => performance.now(),
  after: containedLaterIfAlive(container)
})
