/** Preloaded into a proxy: tells the benchmark, over the IPC channel, what the process has used so far. */

export interface Usage {
  /** User and system time in microseconds. */
  readonly cpu: number
  /** Bytes. */
  readonly rss: number
}

process.on("message", (message) => {
  if (message !== "usage") return
  const { user, system } = process.cpuUsage()
  process.send?.({ cpu: user + system, rss: process.memoryUsage.rss() } satisfies Usage)
})
// The channel alone must not keep a process alive that wants to end.
process.channel?.unref()
