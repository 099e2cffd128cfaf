/** Answers over HTTP/2 that are cut at every moment, by clients and by the proxy, end no more than themselves. */
import { execFile } from "node:child_process"
import { join } from "node:path"
import { promisify } from "node:util"
import { assert, describe, it } from "@effect/vitest"

const run = promisify(execFile)

describe("streamed answers that are cut at every moment", () => {
  it("leave the process alive and without defects", async () => {
    const { stdout } = await run(process.execPath, [join(import.meta.dirname, "http2-cut-streams.ts"), "600", "1"])
    const [, answers, cut] = /^survived: (\d+) answers, .*"withdrawn":(\d+)/.exec(stdout) ?? []
    assert.isAbove(Number(answers), 2000, stdout)
    assert.isAbove(Number(cut), 0, stdout)
  }, 120_000)
})
