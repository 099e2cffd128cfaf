/** Values as files of LiteLLM write them: texts, numbers, variables of the environment, and credentials, which no file of ours holds. */
import type { Path } from "../../../spec/config/path.ts"
import type { FromEnvironment } from "../../../spec/config/write.ts"
import type { Ledger } from "./ledger.ts"

type Value = string | FromEnvironment

export const text = (value: unknown): string | undefined =>
  typeof value === "string" && value !== "" ? value : undefined
export const positive = (value: unknown): number | undefined =>
  typeof value === "number" && Number.isInteger(value) && value > 0 && value <= 1_000_000 ? value : undefined

/** The variable that `os.environ/NAME` stands for. */
const variableOf = (value: unknown): string | undefined =>
  typeof value === "string" ? /^os\.environ\/([A-Za-z_][A-Za-z0-9_]*)$/.exec(value)?.[1] : undefined

export const isVariable = (value: unknown): boolean => typeof value === "string" && value.startsWith("os.environ/")

/** Text of a parameter: a variable, or itself. */
export const writtenValue = (ledger: Ledger, value: unknown, sample?: string): Value | undefined => {
  const name = variableOf(value)
  if (name !== undefined) return ledger.variable(name, sample)
  return isVariable(value) ? undefined : text(value)
}

/** A credential: a variable always, since a file holds none. */
export const credential = (ledger: Ledger, value: unknown, path: Path, name: string): FromEnvironment => {
  const named = variableOf(value)
  if (named !== undefined) {
    ledger.exact(path, `read from ${named}`)
    return ledger.variable(named)
  }
  ledger.tell("manual", path, `a file holds no credential: put it in the variable ${name}`)
  return ledger.variable(name)
}

/** Names of models that may be written. */
export const isName = (name: string): boolean =>
  name.length <= 200 && /^[\x21-\x7e][\x20-\x7e]*$/.test(name) && !/\s$/.test(name)
