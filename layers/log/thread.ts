/** The thread that writes the log into a file, where a write may take as long as the disk wants. */
import { workerData } from "node:worker_threads"
import type { ThreadData } from "./output.ts"
import { Ring } from "./ring.ts"
import { pauseAfter, type Written, writeFrom } from "./writer.ts"

const { memory, batch, descriptor }: ThreadData = workerData
const ring = new Ring(memory, batch)
for (let written: Written = "all"; ; written = writeFrom(ring, descriptor)) {
  ring.sleep()
  ring.gather(pauseAfter(written))
}
