/** Writes down which test file runs, and since when. */
import { appendFileSync, writeFileSync } from "node:fs"
import { join, relative } from "node:path"
import { expect } from "vitest"

const state = process.env["MUTANTS_STATE"]
const { testPath } = expect.getState()
if (state === undefined || testPath === undefined) throw new Error("a test file runs that mutants know nothing of")
const file = relative(process.cwd(), testPath)
writeFileSync(join(state, "test"), file)
appendFileSync(join(state, "started"), `${Date.now()} ${file}\n`)
