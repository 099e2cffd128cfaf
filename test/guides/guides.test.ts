/** Every guide holds: it is followed from an empty folder, fence by fence, with the package as its users install it. */
import { execFile } from "node:child_process"
import { existsSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { basename, join } from "node:path"
import { promisify } from "node:util"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { packed, patience } from "../packed.ts"
import { root } from "../program.ts"
import { follow } from "./reader.ts"
import { stepsOf } from "./steps.ts"

const run = promisify(execFile)

const guides = globSync("docs/guides/*.md", { cwd: root })
  .sort()
  .map((page) => {
    const text = readFileSync(join(root, page), "utf8")
    return { page, text, steps: stepsOf(page, text) }
  })
const steps = guides.flatMap((guide) => guide.steps)

describe("a guide", () => {
  it.each(guides)("has at most 200 lines, and links that lead somewhere: $page", ({ page, text }) => {
    assert.isAtMost(text.split("\n").length, 201)
    for (const [, link] of text.matchAll(/\]\(([^)#]+)(?:#[^)]*)?\)/g))
      if (!/^https?:/.test(link!)) assert.isTrue(existsSync(join(root, page, "..", link!)), link)
  })

  it("says what a terminal prints when it is ready", () => {
    const unsaid = guides.flatMap(({ steps }) =>
      steps.filter(({ use }, index) => use._tag === "Terminal" && steps[index + 1]?.use._tag !== "Output")
    )
    assert.deepStrictEqual(unsaid, [])
  })

  it("leaves to a judge only what a judge does", () => {
    for (const { use, place } of steps)
      if (use._tag === "Judge") assert.isTrue(existsSync(join(root, "judges", use.name, "judge.ts")), place)
  })
})

describe.concurrent("following a guide", () => {
  /** Has what all guides install, and a folder for each: what stands above a folder is found from within. */
  const home = mkdtempSync(join(tmpdir(), "headgate-guides-"))
  const folder = (page: string) => join(home, basename(page, ".md"))

  beforeAll(async () => {
    const { dependencies, devDependencies } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"))
    const versions: Readonly<Record<string, string | undefined>> = { ...devDependencies, ...dependencies }
    const tarball = await packed()
    const wanted = steps.flatMap(({ use, place }) =>
      use._tag === "Install" ? use.packages.map((name) => ({ name, place })) : []
    )
    const packages = wanted.map(({ name, place }) => {
      if (name === "headgate") return tarball
      if (versions[name] === undefined) throw new Error(`${place}: ${name} is no package of this repository`)
      return `${name}@${versions[name]}`
    })
    writeFileSync(join(home, "package.json"), '{ "private": true, "type": "module" }')
    // Types, and what pages start with npx, which finds it here.
    const others = ["@types/node", "@modelcontextprotocol/server-everything"].map((name) => `${name}@${versions[name]}`)
    const flags = ["--legacy-peer-deps", "--no-audit", "--no-fund", "--prefer-offline"]
    await run("npm", ["install", ...flags, ...new Set([tarball, ...packages, ...others])], { cwd: home })
  }, patience)

  afterAll(() => rmSync(home, { recursive: true, force: true, maxRetries: 3 }))

  it("finds programs whose types hold", async () => {
    const types = join(home, "types")
    for (const { page, steps } of guides)
      for (const { language, use, text } of steps)
        if (language === "ts" && use._tag === "File") {
          mkdirSync(join(types, basename(page, ".md")), { recursive: true })
          writeFileSync(join(types, basename(page, ".md"), use.path), text)
        }
    const compilerOptions = { strict: true, module: "nodenext", noEmit: true, allowImportingTsExtensions: true }
    // Packages of others are not ours to judge.
    const settings = { compilerOptions: { ...compilerOptions, skipLibCheck: true, types: ["node"] } }
    writeFileSync(join(types, "tsconfig.json"), JSON.stringify(settings))
    const compiler = join(root, "node_modules", "typescript", "bin", "tsc")
    const { stdout } = await run(process.execPath, [compiler, "-p", types]).catch((error) => error)
    assert.strictEqual(stdout, "")
  })

  it.each(guides)("$page", async ({ page, steps }) => {
    mkdirSync(folder(page))
    await follow(steps, { folder: folder(page), bin: join(home, "node_modules", ".bin") })
  })
})
