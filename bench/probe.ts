/** Preloaded into a proxy: tells the benchmark, over the IPC channel, what the process has used and how long its loop stood still. */
export interface Usage {
  /** User and system time in microseconds. */
  readonly cpu: number
  /** Bytes. */
  readonly rss: number
  /** The most that `rss` has been. */
  readonly peak: number
}

export interface Pauses {
  /** Milliseconds between two turns of the loop, at the longest, since it was last asked. */
  readonly longest: number
  /** Milliseconds that the thread itself worked between two turns, at the most: what a pause is without other programs on the machine. */
  readonly busiest: number
}

const usage = (): Usage => {
  const { user, system } = process.cpuUsage()
  return { cpu: user + system, rss: process.memoryUsage.rss(), peak: process.resourceUsage().maxRSS * 1024 }
}

const cpuTime = () => {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1000
}

let watching = false
let longest = 0
let busiest = 0

/** What it watches with wakes the loop every millisecond, so it begins when it is first asked. */
const pauses = (): Pauses => {
  const found = { longest, busiest }
  longest = 0
  busiest = 0
  if (!watching) {
    watching = true
    let [time, cpu] = [performance.now(), cpuTime()]
    setInterval(() => {
      const [now, used] = [performance.now(), cpuTime()]
      longest = Math.max(longest, now - time)
      busiest = Math.max(busiest, used - cpu)
      time = now
      cpu = used
    }, 1).unref()
  }
  return found
}

process.on("message", (message) => {
  if (message === "usage") process.send?.(usage())
  else if (message === "pauses") process.send?.(pauses())
})
// The channel alone must not keep a process alive that wants to end.
process.channel?.unref()
