/** What `/memory` shows: the heap of V8, the process, and what the kernel says of both. */
import { existsSync, readFileSync } from "node:fs"
import { getHeapStatistics } from "node:v8"

export const memory = (now: number) => {
  const usage = process.memoryUsage()
  const heap = getHeapStatistics()
  return {
    captured_at_unix_ms: now,
    capture_mode: "v8",
    allocation_stats: {
      allocated: heap.total_heap_size,
      freed: heap.total_heap_size - heap.used_heap_size,
      allocations: null,
      frees: null
    },
    pprof: null,
    allocator: {
      kind: "v8",
      stats: { ...heap, rss: usage.rss, external: usage.external, array_buffers: usage.arrayBuffers }
    },
    cgroup: keyed("/sys/fs/cgroup/memory.stat", /^(\w+) (\d+)$/),
    smaps: keyed("/proc/self/smaps_rollup", /^(\w+):\s+(\d+) kB$/)
  }
}

const keyed = (file: string, line: RegExp): Record<string, number> | null => {
  if (!existsSync(file)) return null
  const found = readFileSync(file, "utf8")
    .split("\n")
    .flatMap((text) => {
      const match = line.exec(text)
      return match === null ? [] : [[match[1]!, Number(match[2])] as const]
    })
  return Object.fromEntries(found)
}
