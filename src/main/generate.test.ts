import { globSync, readdirSync, readFileSync } from "node:fs"
import { join, relative, resolve } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { generated, generatedDocs } from "./generate.ts"

const registration = /\.(?:counter|gauge|histogram|gathered)\(\s*"([a-z_]+)"/g

describe("generated files", () => {
  const folder = resolve(import.meta.dirname, "../../spec/generated")
  const files = generated()

  it("are those that the schemas give", () => {
    const written = readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => relative(folder, join(entry.parentPath, entry.name)))
    assert.deepStrictEqual(written.sort(), Object.keys(files).sort(), "run npm run generate")
    for (const [name, text] of Object.entries(files))
      assert.strictEqual(readFileSync(join(folder, name), "utf8"), text, `${name}: run npm run generate`)
  })

  it("in docs, too", () => {
    for (const [name, text] of Object.entries(generatedDocs()))
      assert.strictEqual(
        readFileSync(resolve(import.meta.dirname, "../../docs", name), "utf8"),
        text,
        `docs/${name}: run npm run generate`
      )
  })

  it("describe every metric that anything registers", () => {
    const root = resolve(import.meta.dirname, "../..")
    const sources = globSync("{src,stages,layers}/**/*.ts", { cwd: root }).filter((name) => !name.endsWith(".test.ts"))
    const names = sources.flatMap((name) =>
      [...readFileSync(join(root, name), "utf8").matchAll(registration)].map(([, metric]) => metric!)
    )
    assert.isAbove(names.length, 20)
    for (const name of names) assert.include(files["reference/metrics.md"], `\`headgate_${name}\``)
  })

  it("link to pages and headings that exist", () => {
    for (const [name, text] of Object.entries(files))
      for (const [, target, anchor] of text.matchAll(/\]\(([^)#]*\.md)?(#[^)]*)?\)/g)) {
        const page = target === undefined ? name : relative(folder, resolve(folder, name, "..", target))
        assert.property(files, page, `${name} links to ${page}`)
        if (anchor !== undefined)
          assert.match(
            files[page]!.toLowerCase(),
            new RegExp(`^#+ ${anchor.slice(1)}$`, "m"),
            `${name} links to ${anchor}`
          )
      }
  })
})
