import { readdirSync, readFileSync } from "node:fs"
import { join, relative, resolve } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { generated } from "./generate.ts"

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
