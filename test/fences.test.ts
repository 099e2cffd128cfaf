/**
 * Every configuration that a page shows is one that this build serves without a doubt, or the page says what it is instead,
 * behind the language of the fence:
 *
 * - `yaml refused`: the next `text` of the page is what `headgatectl validate --strict` says of it;
 * - `yaml fragment=routes[].policies`: what may stand at this path of a file (`fragment` alone: sections of a file);
 * - `yaml of=prometheus`: a file of another program;
 * - `file=NAME`, on a fence of any language: a file of this name, which lies beside the configurations of the page. Those and
 *   what is for a judge are configurations when they have a section of one;
 * - `sh makes`: makes files that configurations of the page name.
 */
import { execFileSync } from "node:child_process"
import { globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { afterAll, assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import type { Problem } from "../spec/config/problem.ts"
import { environmentOf, type Fence, fencesOf } from "./fences.ts"
import { root } from "./program.ts"
import { ctl } from "./tool.ts"

const folder = mkdtempSync(join(tmpdir(), "headgate-fences-"))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const sections = /^(?:gateways|binds|routes|backends|llm|mcp|frontendPolicies):/m

/** A file of the reader's may be a case, or of another program: it is one of ours when it has a section. */
const isConfiguration = ({ language, marks, text }: Fence) =>
  /^ya?ml$/.test(language) && (marks.has("file") || marks.has("judge") ? sections.test(text) : true)

/** `routes[].policies` as lines of a file, and how far the text below them is indented. */
const around = (path: string): { readonly lines: ReadonlyArray<string>; readonly indent: string } => {
  const lines: Array<string> = []
  let indent = ""
  for (const [step] of path.matchAll(/[^.[\]]+|\[\]/g)) {
    lines.push(`${indent}${step === "[]" ? "-" : `${step}:`}`)
    indent += "  "
  }
  return { lines, indent }
}

/** What is wrong with the fences of a page, each with its line. */
const faultsOf = (page: string): Effect.Effect<ReadonlyArray<string>> =>
  Effect.gen(function* () {
    const fences = fencesOf(page)
    const own = mkdtempSync(join(folder, "page-"))
    const write = (name: string, text: string): string => {
      const file = join(own, name)
      mkdirSync(dirname(file), { recursive: true })
      writeFileSync(file, text)
      return file
    }
    for (const { marks, text } of fences) if (marks.has("file")) write(marks.get("file")!, text)
    for (const { marks, text } of fences)
      if (marks.has("makes")) execFileSync("sh", ["-euc", text], { cwd: own, stdio: "ignore" })
    const validated = (file: string, ...flags: ReadonlyArray<string>) =>
      Effect.map(ctl("validate", "--strict", file, ...flags), ({ code, out, err }) => ({
        code,
        said: [...out, ...err].join("\n").replaceAll(`${own}/`, "")
      }))

    const faults: Array<string> = []
    for (const [index, fence] of fences.entries()) {
      const { marks, text, line } = fence
      const tell = (fault: string) => faults.push(`line ${line}: ${fault}`)
      if (!isConfiguration(fence)) continue
      for (const [name, value] of Object.entries(environmentOf(text))) process.env[name] ??= value
      const path = marks.get("fragment")
      const { lines, indent } = around(path ?? "")
      const file = write(
        marks.get("file") ?? "config.yaml",
        [...lines, path === undefined ? text : text.replace(/^(?=.)/gm, indent)].join("\n")
      )
      if (path !== undefined) {
        const problems: ReadonlyArray<Problem> = JSON.parse((yield* validated(file, "--format", "json")).said)
        // What stands around it is the test's own, and not whole.
        for (const problem of problems)
          if (problem.line > lines.length)
            tell(`line ${problem.line - lines.length} in it: ${problem.path}: ${problem.message}`)
        continue
      }
      const { code, said } = yield* validated(file)
      if (marks.has("refused")) {
        const told = fences.slice(index + 1).find(({ language }) => language === "text")
        if (code === 0) tell("it is said to be refused, and is valid")
        else if (told === undefined) tell("a text has to tell what is said of it")
        else if (told.text.trimEnd() !== said) tell(`the page says:\n${told.text}but the tool says:\n${said}`)
      } else if (marks.has("of")) {
        if (code === 0) tell(`it is said to be a file of ${marks.get("of")}, and is one of ours`)
      } else if (code !== 0) tell(said)
    }
    return faults
  })

const pages = globSync(["*.md", "docs/**/*.md", "spec/generated/**/*.md"], { cwd: root }).toSorted()

describe("the configurations that pages show", () => {
  it.effect.each(pages)("%s", (page) =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* faultsOf(readFileSync(join(root, page), "utf8")), [])
    })
  )

  it("are on pages that are there", () => {
    assert.includeMembers(pages, ["README.md", "docs/fail-closed.md", "spec/generated/reference/commands.md"])
  })
})

const page = (...parts: ReadonlyArray<readonly [info: string, text: string]>) =>
  parts.map(([info, text]) => `\`\`\`${info}\n${text}\n\`\`\`\n`).join("\nMore.\n\n")

const whole = `gateways: { default: { port: 3000, address: localhost } }
routes: [{ policies: { directResponse: { status: 200, body: hello } } }]`
const odd = "gateways: { default: { prot: 3000 } }"

describe("a fence", () => {
  it.effect.each<readonly [what: string, page: string, fault: RegExp | undefined]>([
    ["that is a whole file is as it should be", page(["yaml", whole]), undefined],
    ["with a mistake", page(["yaml", odd]), /^line 1: config\.yaml:1:\d+: gateways\.default.*port/],
    [
      "with a doubt",
      page(["yaml", "llm: { port: 4000, models: [{ name: '*', provider: mock }] }"]),
      /^line 1: config.*: warning: llm\.port: deprecated/
    ],
    ["that this build cannot serve", page(["yaml", `${whole}\nui: {}`]), /^line 1: .*not available yet/],
    ["that is said to be refused, and is not", page(["yaml refused", whole], ["text", ""]), /and is valid$/],
    ["that is refused, without what is said of it", page(["yaml refused", odd]), /a text has to tell/],
    ["that is refused with other words", page(["yaml refused", odd], ["text", "no"]), /^line 1: the page says:\nno\n/],
    ["of another program that is one of ours", page(["yaml of=other", whole]), /and is one of ours$/],
    ["of another program", page(["yaml of=other", "scrape_configs: []"]), undefined],
    ["that fits its place", page(["yaml fragment=routes[].policies", "timeout: { requestTimeout: 1s }"]), undefined],
    [
      "that does not fit its place",
      page(["yaml fragment=routes[].policies", "\ntimeout: { requestTimeout: soon }"]),
      /^line 1: line 2 in it: routes\[0\]\.policies\.timeout\.requestTimeout: /
    ],
    [
      "that names a file which is not there",
      page(["yaml", `${whole}\nconfig: { modelCatalog: [{ file: prices.json }] }`]),
      /cannot read prices\.json/
    ]
  ])("%s", ([, text, fault]) =>
    Effect.gen(function* () {
      const faults = yield* faultsOf(text)
      if (fault === undefined) assert.deepStrictEqual(faults, [])
      else assert.match(faults.join("\n"), fault)
    })
  )
})
