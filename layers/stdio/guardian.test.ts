import { execFileSync, spawn } from "node:child_process"
import { once } from "node:events"
import { readFileSync } from "node:fs"
import { assert, describe, it } from "@effect/vitest"
import { nobody } from "../../src/services/contained.ts"
import { until } from "../../test/program.ts"
import { makeGuardian } from "./guardian.ts"

/** The shells that this process has started. */
const shells = (): ReadonlyArray<number> =>
  readFileSync(`/proc/self/task/${process.pid}/children`, "utf8")
    .trim()
    .split(" ")
    .map(Number)
    .filter((pid) => pid > 0 && readFileSync(`/proc/${pid}/cmdline`, "utf8").includes("read -r op id"))

describe("the guardian", () => {
  it("is replaced when it dies, and its successor knows all that it watched", async () => {
    const guardian = makeGuardian(nobody)
    const child = spawn("/bin/sh", ["-c", "sleep 1000"], { detached: true, stdio: "ignore" })
    guardian.watch(child.pid!)
    await until("the first", () => shells().length === 1)
    const [first] = shells()
    // One that dies at once is not replaced at once.
    await new Promise((resolve) => setTimeout(resolve, 1100))
    execFileSync("kill", ["-KILL", String(first)])
    await until("the second", () => shells().some((pid) => pid !== first))
    guardian.close()
    assert.deepStrictEqual(await once(child, "exit"), [null, "SIGTERM"])
  })
})
