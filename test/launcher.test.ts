/** What the launcher starts the program with, which nobody can see who is served by it. */
import { spawn, spawnSync } from "node:child_process"
import { chmodSync, cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { text } from "node:stream/consumers"
import { assert, describe, it } from "@effect/vitest"

const root = join(import.meta.dirname, "..")
const launcher = new URL("../bin/launch.mjs", import.meta.url).href
const pinned = join(root, "node_modules/.bin/node")

interface Circumstances {
  readonly args?: ReadonlyArray<string>
  readonly env?: string
  readonly ipc?: boolean
  /** The version of a runtime that is too old. */
  readonly version?: string
}

/** What the launcher would run in its place; `undefined` when it goes on as it is. */
const handedOver = async (program: string, { args = [], env = "", ipc = false, version }: Circumstances) => {
  const script = `
    import childProcess from "node:child_process"
    import { syncBuiltinESMExports } from "node:module"
    const tell = (file, args) => { process.stdout.write(JSON.stringify([file, ...args])); process.exit(0) }
    childProcess.spawn = tell
    syncBuiltinESMExports()
    process.execve = (file, [, ...args]) => tell(file, args)
    const version = ${JSON.stringify(version ?? null)}
    if (version !== null) Object.defineProperty(process.versions, "node", { value: version })
    const { launch } = await import(${JSON.stringify(launcher)})
    process.argv = [process.execPath, "launcher", "--version"]
    await launch(${JSON.stringify(program)})
    process.channel?.unref()`
  const child = spawn(process.execPath, [...args, "--input-type=module", "-e", script], {
    env: { PATH: process.env["PATH"], NODE_OPTIONS: env },
    stdio: ["ignore", "pipe", "ignore", ...(ipc ? (["ipc"] as const) : [])]
  })
  const printed = await text(child.stdout!)
  return printed.startsWith("[") ? (JSON.parse(printed) as ReadonlyArray<string>) : undefined
}

const flag = "--max-semi-space-size=8"
const entry = (program: string) => join(root, `src/main/${program}.ts`)

describe("the launcher", () => {
  it("gives the proxy a small young generation", async () => {
    const [file, ...args] = (await handedOver("headgate", {}))!
    assert.strictEqual(file, process.execPath)
    assert.include(args, flag)
    assert.deepStrictEqual(args.slice(-2), [entry("headgate"), "--version"])
  })

  it("gives it on a runtime that is too old as well, by way of the pinned one", async () => {
    const expected = [pinned, flag, entry("headgate"), "--version"]
    assert.deepStrictEqual(await handedOver("headgate", { version: "20.19.0" }), expected)
  })

  it("leaves it as it is to whoever chose one", async () => {
    assert.isUndefined(await handedOver("headgate", { args: ["--max-semi-space-size=32"] }))
    assert.isUndefined(await handedOver("headgate", { env: "--max-semi-space-size=32" }))
    const env = "--max_semi_space_size=32"
    assert.deepStrictEqual(await handedOver("headgate", { env, version: "20.19.0" }), [
      pinned,
      entry("headgate"),
      "--version"
    ])
  })

  it("leaves a process as it is to whom it is attached", async () => {
    assert.isUndefined(await handedOver("headgate", { args: ["--inspect=0"] }))
    assert.isUndefined(await handedOver("headgate", { ipc: true }))
  })

  it("starts the command-line tool as it is: nobody waits for its collections", async () => {
    assert.isUndefined(await handedOver("headgatectl", {}))
    assert.deepStrictEqual(await handedOver("headgatectl", { version: "20.19.0" }), [
      pinned,
      entry("headgatectl"),
      "--version"
    ])
  })

  it("starts the proxy all the same where a process may not begin anew", () => {
    const args = ["--permission", "--allow-fs-read=*", "--allow-worker", join(root, "bin/headgate.mjs"), "--version"]
    const { status, stdout } = spawnSync(process.execPath, args, { encoding: "utf8" })
    assert.strictEqual(status, 0)
    assert.match(stdout, /\d+\.\d+\.\d+/)
  })

  it("keeps compiled code in the user's own folder, and nowhere where there is none: others may write elsewhere", () => {
    const folder = mkdtempSync(join(tmpdir(), "headgate-launcher-"))
    cpSync(join(root, "bin"), join(folder, "bin"), { recursive: true })
    mkdirSync(join(folder, "programs"))
    const program = `import { getCompileCacheDir } from "node:module"\nprocess.stdout.write(String(getCompileCacheDir()))\n`
    for (const name of ["headgate", "headgatectl"]) writeFileSync(join(folder, "programs", `${name}.mjs`), program)
    const kept = (name: string, env: NodeJS.ProcessEnv) =>
      spawnSync(process.execPath, [join(folder, "bin", `${name}.mjs`)], {
        env: { TMPDIR: join(folder, "tmp"), ...env },
        encoding: "utf8"
      }).stdout
    const home = join(folder, "home")
    mkdirSync(home)
    const found = ["headgate", "headgatectl"].map((name) => [
      kept(name, {}),
      // Nor is a home made for it.
      kept(name, { HOME: join(folder, "nobody") }),
      kept(name, { HOME: home }).startsWith(join(home, ".cache/headgate/code/"))
    ])
    // Whoever may write to a folder, or to what holds it, may put his own code there.
    const shared = [".cache", ".cache/headgate", ".cache/headgate/code"].map((each, index) => {
      const open = join(folder, `open${index}`)
      mkdirSync(join(open, ".cache/headgate/code"), { recursive: true })
      chmodSync(join(open, each), 0o777)
      return kept("headgatectl", { HOME: open })
    })
    rmSync(folder, { recursive: true })
    assert.deepStrictEqual(found, [
      ["undefined", "undefined", true],
      ["undefined", "undefined", true]
    ])
    assert.deepStrictEqual(shared, ["undefined", "undefined", "undefined"])
  })
})
