/** What the launcher starts the program with, which nobody can see who is served by it. */
import { spawnSync } from "node:child_process"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"

const launcher = new URL("../bin/launch.mjs", import.meta.url).href

/** The arguments with which the same process is begun anew; `undefined` when it is not. */
const begunAnew = (program: string, options: { readonly args?: ReadonlyArray<string>; readonly env?: string }) => {
  const script = `
    process.execve = (file, args) => { process.stdout.write(JSON.stringify([file, ...args])); process.exit(0) }
    const { launch } = await import(${JSON.stringify(launcher)})
    process.argv = [process.execPath, "launcher", "--version"]
    await launch(${JSON.stringify(program)})`
  const { stdout } = spawnSync(process.execPath, [...(options.args ?? []), "--input-type=module", "-e", script], {
    encoding: "utf8",
    env: { PATH: process.env["PATH"], NODE_OPTIONS: options.env ?? "" }
  })
  return stdout.startsWith("[") ? (JSON.parse(stdout) as ReadonlyArray<string>) : undefined
}

describe("the launcher", () => {
  it("gives the proxy a small young generation", () => {
    const [file, , ...args] = begunAnew("headgate", {})!
    assert.strictEqual(file, process.execPath)
    assert.include(args, "--max-semi-space-size=4")
    assert.deepStrictEqual(args.slice(-2), [join(import.meta.dirname, "../src/main/headgate.ts"), "--version"])
  })

  it("leaves it as it is to whoever chose one", () => {
    assert.isUndefined(begunAnew("headgate", { args: ["--max-semi-space-size=32"] }))
    assert.isUndefined(begunAnew("headgate", { env: "--max-semi-space-size=32" }))
    assert.isUndefined(begunAnew("headgate", { env: "--max_semi_space_size=32" }))
  })

  it("starts the command-line tool as it is: nobody waits for its collections", () => {
    assert.isUndefined(begunAnew("headgatectl", {}))
  })
})
