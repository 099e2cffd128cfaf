/** A reader of a guide notices what is not true in it: words that say nothing, exit codes, output, and what a terminal says. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, assert, describe, it } from "@effect/vitest"
import { follow } from "./reader.ts"
import { stepsOf } from "./steps.ts"

const home = mkdtempSync(join(tmpdir(), "headgate-reader-"))
afterAll(() => rmSync(home, { recursive: true, force: true }))

const fence = (info: string, text: string) => `\`\`\`${info}\n${text}\n\`\`\`\n\n`

/** What the reader says about a page; nothing when all of it is true. */
const read = async (...fences: ReadonlyArray<string>): Promise<string> => {
  const folder = mkdtempSync(join(home, "page-"))
  try {
    await follow(stepsOf("page.md", `# A page\n\n${fences.join("")}`), { folder, bin: folder })
    return ""
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

describe("a reader", () => {
  it("writes files, types commands, and compares all of what is printed", async () => {
    const printed = [fence("text file=a/b.txt", "one\ntwo\nthree"), fence("sh", "cat a/b.txt")]
    for (const shown of ["one\ntwo\nthree", "one\n…\nthree", "…", "o…e\n…", "one\ntwo\n…\nthree"])
      assert.strictEqual(await read(...printed, fence("text output", shown)), "", shown)
    for (const shown of ["one", "two\nthree", "one\nthree", "one\n…\ntwo", "one\ntwo\nthree\nfour", "one two three"])
      assert.match(await read(...printed, fence("text output", shown)), /^page\.md:13: this was printed:\none\ntwo/)
  })

  it("knows which exit code a command has", async () => {
    assert.strictEqual(await read(fence("sh status=3", "exit 3")), "")
    assert.match(await read(fence("sh", "true\nfalse\ntrue")), /^page\.md:3: exit code 1, not 0:/)
    assert.match(await read(fence("sh status=1", "true")), /^page\.md:3: exit code 0, not 1:/)
  })

  it("reads on in what a terminal says, and interrupts it before it starts something else there", async () => {
    const start = (word: string) =>
      fence("sh terminal=a", `trap 'echo over; exit' INT\necho ${word}\nwhile :; do sleep 0.1; done`)
    const second = [start("first"), fence("text output", "first"), start("second")]
    assert.strictEqual(await read(...second, fence("text output", "second")), "")
    const ended = fence("sh terminal=a", "echo once")
    assert.match(
      await read(ended, fence("text output", "once"), fence("text output=a", "once")),
      /^page\.md:11: this was printed:\n\nnot:\nonce/
    )
  })

  it("takes free ports for those of the page, and shows those of the page", async () => {
    mkdirSync(join(home, "ports"))
    const pages = stepsOf(
      "page.md",
      fence("text file=port", "port: 3000") +
        fence("sh", "cat port; echo $ADMIN_ADDR") +
        fence("text output", "port: 3000\nlocalhost:15000")
    )
    await follow(pages, { folder: join(home, "ports"), bin: home })
    assert.notInclude(readFileSync(join(home, "ports", "port"), "utf8"), "3000")
  })

  it("does not take a slip for prose", () => {
    const wrong = ["sh staus=1", "yaml", "text outptu", "sh install"]
    for (const info of wrong) assert.throws(() => stepsOf("page.md", fence(info, "x")), /^page\.md:1: /)
    assert.deepStrictEqual(
      stepsOf("page.md", fence("sh install", "npm install headgate effect\nsudo npm install --global openai"))[0]?.use,
      { _tag: "Install", packages: ["headgate", "effect", "openai"] }
    )
    assert.deepStrictEqual(stepsOf("page.md", fence("sh judge=image", "x"))[0]?.use, { _tag: "Judge", name: "image" })
  })
})
