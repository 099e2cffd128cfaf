/** `headgate oneshot`: a proxy for as long as a command runs. */
import { spawnSync } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { nowhere } from "./origin.ts"
import { root } from "./program.ts"

const folder = mkdtempSync(join(tmpdir(), "headgate-oneshot-"))
afterAll(() => rmSync(folder, { recursive: true }))

const oneshot = (...args: ReadonlyArray<string>) => {
  const { status, stdout, stderr } = spawnSync(process.execPath, [join(root, "bin/headgate.mjs"), "oneshot", ...args], {
    encoding: "utf8",
    env: { PATH: process.env["PATH"], HOME: folder, ADMIN_ADDR: "off", STATS_ADDR: "off", READINESS_ADDR: "off" }
  })
  return { status, stdout, stderr }
}

const text = (port: number) =>
  `gateways: { default: { port: ${port}, address: localhost } }\nroutes: [{ policies: { directResponse: { status: 200, body: served } } }]\n`

const asks = (port: number) =>
  `const answer = await fetch("http://localhost:${port}/"); console.log(await answer.text()); process.exit(7)`

describe("headgate oneshot", () => {
  it("starts the command when the proxy is ready, ends with its code, and leaves nothing behind", async () => {
    const port = await Effect.runPromise(nowhere)
    const log = join(folder, "log")
    const command = [process.execPath, "--input-type=module", "-e", asks(port)]
    const ran = oneshot("-c", text(port), "--output", log, "--", ...command)
    assert.deepStrictEqual(ran, { status: 7, stdout: "served\n", stderr: "" })
    assert.match(readFileSync(log, "utf8"), /loaded config from <inline>[\s\S]*shutting down/)
    const refused = await fetch(`http://localhost:${port}/`).catch((error) => error.cause.code)
    assert.include(["ECONNREFUSED", undefined], refused)
    assert.notInstanceOf(refused, Response)
  })

  it("runs no command when the proxy cannot start", () => {
    const log = join(folder, "failed")
    const ran = oneshot("-c", "gateways: [", "--output", log, "--", "echo", "ran")
    assert.deepStrictEqual(ran, { status: 1, stdout: "", stderr: "" })
    assert.match(readFileSync(log, "utf8"), /<inline>:1:/)
  })

  it.each([[["-f", "a.yaml"]], [["--", "echo"]]] as const)("says how it is written: %j", (args) => {
    const { status, stderr } = oneshot(...args)
    assert.strictEqual(status, 1)
    assert.match(stderr, /write headgate oneshot -f config\.yaml -- COMMAND\n$/)
  })
})
