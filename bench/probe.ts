/** Preloaded into a proxy: tells the benchmark, over the IPC channel, what the process has used and how long its loop stood still. */
import { type ELDHistogram, monitorEventLoopDelay } from "node:perf_hooks"

export interface Usage {
  /** User and system time in microseconds. */
  readonly cpu: number
  /** Bytes. */
  readonly rss: number
  /** The most that `rss` has been. */
  readonly peak: number
}

export interface Pauses {
  /** Milliseconds that the loop did nothing else, at the longest, since it was last asked. */
  readonly longest: number
}

let pauses: ELDHistogram | undefined

const usage = (): Usage => {
  const { user, system } = process.cpuUsage()
  return { cpu: user + system, rss: process.memoryUsage.rss(), peak: process.resourceUsage().maxRSS * 1024 }
}

/** What it watches with wakes the loop every millisecond, so it begins when it is first asked. */
const longestPause = (): Pauses => {
  const longest = pauses === undefined ? 0 : pauses.max / 1e6
  pauses ??= monitorEventLoopDelay({ resolution: 1 })
  pauses.reset()
  pauses.enable()
  return { longest }
}

process.on("message", (message) => {
  if (message === "usage") process.send?.(usage())
  else if (message === "pauses") process.send?.(longestPause())
})
// The channel alone must not keep a process alive that wants to end.
process.channel?.unref()
