// Tells a mutated file which of its mutants is awake, in whichever process or thread it was loaded. While it is recorded
// which tests reach which mutants, none is.
import { appendFileSync, readFileSync } from "node:fs"
import { join } from "node:path"

const state = join(import.meta.dirname, "..", "..", "..", "state")
const awake = Number(readFileSync(join(state, "awake"), "utf8"))
const reached = new Set()

const record = (id) => {
  if (!reached.has(id)) {
    reached.add(id)
    appendFileSync(join(state, "reached"), `${id} ${readFileSync(join(state, "test"), "utf8")}\n`)
  }
  return false
}

export const $mutant = awake === -1 ? record : (id) => id === awake
