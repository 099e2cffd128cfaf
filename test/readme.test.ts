import { spawnSync } from "node:child_process"
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { commandNames } from "../src/main/pages/commands.ts"
import { connections, listeners, policies } from "../stages/registry.ts"
import { schemas } from "../stages/schemas.ts"
import { fencesOf } from "./fences.ts"
import { type Program, root, shell, startProgram, startQuickstart } from "./program.ts"

const readme = readFileSync(join(root, "README.md"), "utf8")

const fences = fencesOf(readme)
const inLanguage = (language: string) => fences.filter((fence) => fence.language === language)

/** The commands that set everything up: this very test runs under them. */
const setUp = new Set(["npm ci && npm start", "npm ci && npm test"])

/** The commands of a shell fence, one for each; a backslash goes on. */
const commands = inLanguage("sh").flatMap(({ text, line }) =>
  text
    .replaceAll("\\\n", " ")
    .split("\n")
    .filter((command) => command !== "" && !setUp.has(command))
    .map((command) => ({ command, line }))
)

/** Commands that go on until somebody ends them. */
const serves = /^node bin\/headgate\.mjs (?:llm|mcp|http) /

const scripts = JSON.parse(readFileSync(join(root, "package.json"), "utf8")).scripts

describe("the README", () => {
  let program: Program
  beforeAll(async () => {
    program = await startQuickstart()
  })
  afterAll(() => program[Symbol.asyncDispose]())

  it("has fences of languages that are tried, and no others", () => {
    assert.deepStrictEqual([...new Set(fences.map(({ language }) => language))].sort(), ["sh", "ts", "yaml"])
    assert.isAtLeast(commands.length, 6)
    assert.containsAllKeys(scripts, ["start", "test", "generate"])
    for (const command of setUp) assert.include(readme, command)
  })

  it.each(commands.filter(({ command }) => serves.test(command)))(
    "line $line serves: $command",
    async ({ command }) => {
      const program = startProgram("sh", ["-c", `exec ${command}`])
      try {
        await program.says(/\tloaded config from headgate (?:llm|mcp|http)\n/)
      } finally {
        await program[Symbol.asyncDispose]()
      }
    }
  )

  it.each(commands.filter(({ command }) => !serves.test(command)))("line $line: $command", async ({ command }) => {
    const { code, output } = await shell(command)
    assert.strictEqual(code, 0, output)
    assert.isNotEmpty(output)
  })

  it("shows a denial with its place when it traces one", async () => {
    const trace = commands.find(({ command }) => command.includes("proxy trace"))!.command
    const { output } = await shell(trace)
    assert.match(output, /apiKey: failed.*examples\/quickstart\/config\.yaml:\d+:\d+ gateways\.default\.apiKey/)
    assert.match(output, /final response: 401/)
  })

  describe("its programs", () => {
    // In the repository: where its packages are found.
    const folder = mkdtempSync(join(root, ".readme-"))
    const files = inLanguage("ts").map(({ text, line }) => {
      const file = join(folder, `line-${line}.ts`)
      return { file, line, text: text.replaceAll('"./src/', '"../src/') }
    })
    beforeAll(() => {
      for (const { file, text } of files) writeFileSync(file, text)
      const settings = { extends: "../tsconfig.json", include: ["*.ts"] }
      writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(settings))
    })
    afterAll(() => rmSync(folder, { recursive: true }))

    it("have types that hold", () => {
      const { status, stdout } = spawnSync(join(root, "node_modules/.bin/tsc"), ["-p", folder], { encoding: "utf8" })
      assert.strictEqual(status, 0, stdout)
    })

    it.each(files)("line $line runs", async ({ file }) => {
      const { code, output } = await shell(`"${process.execPath}" "${file}"`)
      assert.strictEqual(code, 0, output)
      assert.isNotEmpty(output)
    })
  })

  it("tells truly which policies there are", () => {
    const row = readme.split("\n").find((line) => line.startsWith("| Policies |"))!
    const [, , works, refused] = row.split("|")
    const names = (cell: string) => [...cell.matchAll(/`(\w+)`/g)].map(([, name]) => name!).sort()
    const available = [...policies.policies, ...connections, ...listeners].map(({ name }) => name as string)
    assert.deepStrictEqual(names(works!), [...available].sort())
    const elsewhere = Object.entries(schemas).filter(([, { places }]) => places.every((place) => place === "frontend"))
    const missing = Object.keys(schemas).filter(
      (name) => !available.includes(name) && !elsewhere.some(([frontend]) => frontend === name)
    )
    assert.deepStrictEqual(names(refused!), missing.sort())
  })

  it("names every command of the tool", () => {
    const [, table = ""] = readme.split("## The tool")
    const named = [...table.split("\n## ")[0]!.matchAll(/^\| `([\w ]+)` \|/gm)].map(([, command]) => command!)
    assert.deepStrictEqual(named.toSorted(), commandNames().toSorted())
  })

  it("names folders and files that exist", () => {
    const links = [...readme.matchAll(/\]\(([^)#]+)\)/g)].map(([, link]) => link!)
    const folders = [...readme.matchAll(/^\| `([\w./]+\/)` \|/gm)].map(([, folder]) => folder!)
    assert.isAtLeast(folders.length, 10)
    for (const path of [...links, ...folders]) assert.isNotEmpty(globSync(path, { cwd: root }), path)
  })
})
