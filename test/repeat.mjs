// Runs laws and cases again and again while every core is kept busy: what depends on the time of the machine fails here.
// Ends with the first failure. `npm run repeat`, or `npm run repeat -- <times>`.
import { spawn, spawnSync } from "node:child_process"
import { availableParallelism } from "node:os"
import { join } from "node:path"

const times = Number(process.argv[2] ?? 20)
if (!Number.isInteger(times) || times < 1) {
  console.error(`expected how many times, a whole number from 1, got ${process.argv[2]}`)
  process.exit(2)
}
const files = ["test/laws.test.ts", "test/cases.test.ts", "src/main/testing"]
const vitest = join("node_modules", "vitest", "vitest.mjs")

/** A core's worth of work. It ends by itself when the run is gone, however that ended. */
const burner = `const parent = ${process.pid}
for (;;) {
  const until = Date.now() + 1000
  while (Date.now() < until);
  try { process.kill(parent, 0) } catch { process.exit() }
}`
const burners = Array.from({ length: availableParallelism() }, () =>
  spawn(process.execPath, ["-e", burner], { stdio: "ignore" })
)
process.on("exit", () => {
  for (const child of burners) child.kill("SIGKILL")
})

for (let round = 1; round <= times; round++) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [vitest, "run", "--bail=1", ...files], {
    encoding: "utf8"
  })
  if (status !== 0) {
    console.error(`${stdout}${stderr}`)
    console.error(`round ${round} of ${times} failed`)
    process.exit(1)
  }
  console.log(`round ${round} of ${times} held`)
}
