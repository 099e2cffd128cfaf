/** The cases of this repository: the format of every case, and tokens of the signing keys of the tests. */
import { globSync, readFileSync } from "node:fs"
import { basename, dirname, join, resolve } from "node:path"
import { Schema } from "effect"
import { type CaseFile, decodeCase } from "../src/main/testing/case-file.ts"
import { readExpectations } from "../src/main/testing/expectation.ts"
import signingKeys from "./fixtures/signing-keys.json" with { type: "json" }
import { type KeyName, keySet, token } from "./tokens.ts"

const root = resolve(import.meta.dirname, "..")

/** A case where it stands. */
export interface FoundCase {
  /** The folder of its policy, as `jwt-auth`. */
  readonly folder: string
  /** The name of its file, without the ending. */
  readonly name: string
  readonly file: CaseFile
}

const camel = (kebab: string) => kebab.replace(/-([a-z])/g, (_, letter: string) => letter.toUpperCase())

/** The name of the policy of a folder. */
export const policyOf = ({ folder }: FoundCase): string => camel(folder)

/** The cases of all policies and terminals. */
export const foundCases = (): ReadonlyArray<FoundCase> =>
  globSync("stages/*/cases/*.yaml", { cwd: root })
    .toSorted()
    .map((file) => ({
      folder: basename(dirname(dirname(file))),
      name: basename(file, ".yaml"),
      file: read(join(root, file))
    }))

/** Tokens, which texts name as `${valid}`; `${keys rsa-1 ec-256}` stands for the set of these keys. */
const Tokens = Schema.Record(
  Schema.String,
  Schema.Struct({
    key: Schema.String,
    claims: Schema.Json,
    header: Schema.optionalKey(Schema.Record(Schema.String, Schema.Json))
  })
)

const read = (file: string): CaseFile => {
  try {
    return readWithTokens(readFileSync(file, "utf8"))
  } catch (cause) {
    throw new Error(`${file}: ${cause instanceof Error ? cause.message : cause}`, { cause })
  }
}

const readWithTokens = (source: string): CaseFile => {
  const { tokens = {}, ...rest } = readExpectations(source) as { readonly tokens?: unknown }
  const named = new Map(
    Object.entries(Schema.decodeUnknownSync(Tokens)(tokens)).map(([name, { key, claims, header }]) => [
      name,
      token(keyNamed(key), claims, header)
    ])
  )
  const kept = new Set((decodeCase(rest).steps ?? []).flatMap(({ keeps = {} }) => Object.keys(keeps)))
  const text = (value: string) =>
    value.replace(/\$\{([^}]+)\}/g, (whole, name: string) => {
      // Known when the case runs.
      if (kept.has(name)) return whole
      const [first, ...keys] = name.split(" ")
      const found = first === "keys" ? keySet(...keys.map(keyNamed)) : named.get(name)
      if (found === undefined) throw new Error(`there is no token ${name}`)
      return found
    })
  return decodeCase(filled(rest, text))
}

const keyNamed = (name: string): KeyName => {
  if (!Object.hasOwn(signingKeys, name)) throw new Error(`there is no key ${name}`)
  return name as KeyName
}

/** The same data with other texts. What a tag made stays. */
const filled = (value: unknown, text: (value: string) => string): unknown => {
  if (typeof value === "string") return text(value)
  if (Array.isArray(value)) return value.map((each) => filled(each, text))
  if (typeof value === "object" && value !== null && Object.getPrototypeOf(value) === Object.prototype)
    return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, filled(each, text)]))
  return value
}
