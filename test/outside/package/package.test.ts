/**
 * A package of someone else: copied out of the source tree, it has a manifest of its own, finds `headgate` by a link in its
 * `node_modules`, and knows nothing but the exports.
 */
import { spawnSync } from "node:child_process"
import { copyFileSync, globSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from "node:fs"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"
import { afterAll, assert, describe, it } from "@effect/vitest"

const root = resolve(import.meta.dirname, "..", "..", "..")
const home = mkdtempSync(join(tmpdir(), "headgate-outside-"))
const modules = join(home, "node_modules")

for (const file of globSync("*.ts", { cwd: import.meta.dirname }).filter((name) => !name.endsWith(".test.ts")))
  copyFileSync(join(import.meta.dirname, file), join(home, file))
copyFileSync(join(import.meta.dirname, "manifest.json"), join(home, "package.json"))
copyFileSync(join(import.meta.dirname, "typescript.json"), join(home, "tsconfig.json"))
mkdirSync(join(modules, "@types"), { recursive: true })
symlinkSync(root, join(modules, "headgate"))
symlinkSync(join(root, "node_modules", "effect"), join(modules, "effect"))
symlinkSync(join(root, "node_modules", "@types", "node"), join(modules, "@types", "node"))

afterAll(() => rmSync(home, { recursive: true, force: true }))

const run = (...args: ReadonlyArray<string>) => {
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { cwd: home, encoding: "utf8" })
  return { status, said: `${stdout}${stderr}`.trim() }
}

describe("a package outside", () => {
  it("type-checks against the exports, and is refused what it must not do", () => {
    assert.deepStrictEqual(run(join(root, "node_modules", "typescript", "bin", "tsc"), "-p", "."), {
      status: 0,
      said: ""
    })
  })

  it("runs the proxy with a policy of its own, reloads it, and reads its traces", () => {
    assert.deepStrictEqual(run("run.ts"), { status: 0, said: "the gateway ran" })
  })

  it("checks its policy by the laws, and a route in memory", () => {
    const { status, said } = run("properties.ts")
    assert.match(said, /^[0-9]+ laws hold$/)
    assert.strictEqual(status, 0)
  })
})
