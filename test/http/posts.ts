/**
 * POST requests, which nobody may send twice, to a backend that closes connections that are idle: in bursts with rests
 * between them that end when the backend is about to close.
 */
import { setTimeout as sleep } from "node:timers/promises"

export interface Posting {
  readonly count: number
  /** How many are under way at a time. */
  readonly lanes: number
  /** How often each lane rests. */
  readonly rests: number
  /** After how many milliseconds the backend closes an idle connection. */
  readonly closes: number
  /** Sends one, and yields its status. */
  readonly send: () => Promise<number>
}

/** Milliseconds around the time of the closing in which a rest ends. */
const around = 40

/** Yields how many were sent, and why others than 200 came of them, each with how often. */
export const post = async ({ count, lanes, rests, closes, send }: Posting) => {
  const failures = new Map<string, number>()
  const burst = Math.ceil(count / lanes / (rests + 1))
  let sent = 0
  const lane = async () => {
    for (let rest = 0; rest <= rests; rest++) {
      if (rest > 0) await sleep(closes + (Math.random() - 0.5) * around)
      for (let i = 0; i < burst && sent < count; i++) {
        sent++
        const why = await send().then(
          (status) => (status === 200 ? undefined : `status ${status}`),
          (error: unknown) => (error instanceof Error ? error.message : String(error))
        )
        if (why !== undefined) failures.set(why, (failures.get(why) ?? 0) + 1)
      }
    }
  }
  await Promise.all(Array.from({ length: lanes }, lane))
  return { sent, failures }
}
