/** Which mutants are tried: a draw of each folder that depends on a seed and hardly on edits elsewhere, and the written ones. */
import { createHash } from "node:crypto"
import { globSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { Schema } from "effect"
import { parse } from "yaml"
import type { PolicySpecs } from "../../spec/standalone/policies.ts"
import { policies } from "../../stages/registry.ts"
import { schemas } from "../../stages/schemas.ts"
import { type Mutant, mutantsOf, writtenMutant } from "./mutations.ts"

/** Mutants that are drawn and counted together. */
export interface Group {
  readonly name: string
  readonly mutants: ReadonlyArray<Mutant>
}

export const root = join(import.meta.dirname, "..", "..")

const folders = ["stages", "src/pipeline", "src/routing", "src/http"]
/** What policies that decide have outside their folders. */
const decisions = ["src/pipeline/authentication/**/*.ts", "src/pipeline/rules.ts", "src/pipeline/mcp-rules.ts"]

/** Who decides whether a request passes, by the folders of their policies. */
const decidingFolders = (): ReadonlyArray<string> =>
  policies.policies
    .filter(({ name }) => (schemas as PolicySpecs)[name]?.decides !== undefined)
    .map(({ name }) => `stages/${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}/**/*.ts`)

const textOf = (file: string): string => readFileSync(join(root, file), "utf8")

const sourcesIn = (patterns: ReadonlyArray<string>): ReadonlyArray<string> =>
  globSync([...patterns], { cwd: root })
    .filter((file) => !file.endsWith(".test.ts"))
    .toSorted()

/** A change by what it looks like, so that an edit elsewhere in its file leaves it the same one. */
const identityOf = ({ file, at, code, becomes }: Mutant): string => JSON.stringify([file, at, code, becomes])

/** The mutants of some files in an order of chance. */
const shuffled = (files: ReadonlyArray<string>, seed: number): ReadonlyArray<Mutant> => {
  const times = new Map<string, number>()
  return files
    .flatMap((file) => mutantsOf(file, textOf(file)))
    .map((mutant) => {
      const identity = identityOf(mutant)
      const time = times.get(identity) ?? 0
      times.set(identity, time + 1)
      const key = createHash("sha256").update(`${seed} ${time} ${identity}`).digest("hex")
      return { mutant, key }
    })
    .toSorted((one, other) => (one.key < other.key ? -1 : 1))
    .map(({ mutant }) => mutant)
}

const placeOf = ({ file, start, end, becomes }: Mutant): string => `${file}:${start}-${end} ${becomes}`

/** @param share of how many mutants a sample has where it is 1. */
export const draw = (seed: number, share = 1): ReadonlyArray<Group> => {
  const taken = new Set<string>()
  const drawn = (name: string, patterns: ReadonlyArray<string>, count: number): Group => {
    const mutants = shuffled(sourcesIn(patterns), seed)
      .filter((mutant) => !taken.has(placeOf(mutant)))
      .slice(0, Math.ceil(count * share))
    for (const mutant of mutants) taken.add(placeOf(mutant))
    return { name, mutants }
  }
  return [
    { name: "as written", mutants: written() },
    ...folders.map((folder) => drawn(folder, [`${folder}/**/*.ts`], 40)),
    drawn("policies that decide", [...decidingFolders(), ...decisions], 100)
  ]
}

const Change = { file: Schema.String, code: Schema.String, becomes: Schema.String }

const listIn = <A>(name: string, schema: Schema.Codec<A, unknown>): ReadonlyArray<A> =>
  Schema.decodeUnknownSync(Schema.Array(schema), { onExcessProperty: "error" })(
    parse(readFileSync(join(import.meta.dirname, name), "utf8"))
  )

/** The mutants that somebody wrote down, because they survived once. */
export const written = (): ReadonlyArray<Mutant> =>
  listIn("written.yaml", Schema.Struct({ shows: Schema.String, ...Change })).map(({ file, code, becomes }) =>
    writtenMutant(file, textOf(file), code, becomes)
  )

/** A mutant that no test can or need tell from the program, and why. */
const Survivor = Schema.Struct({ ...Change, at: Schema.String, reason: Schema.String })
type Survivor = typeof Survivor.Type

export const survivors = (): ReadonlyArray<Survivor> => listIn("survivors.yaml", Survivor)

/** Whether two changes are the same one. */
export const isSame = (one: Changed, other: Changed): boolean =>
  one.file === other.file && one.at === other.at && one.code === other.code && one.becomes === other.becomes
type Changed = Pick<Mutant, "file" | "at" | "code" | "becomes">

/** The listed survivors that no mutant of their file is. */
export const unfounded = (): ReadonlyArray<Survivor> =>
  survivors().filter(
    (survivor) => !mutantsOf(survivor.file, textOf(survivor.file)).some((mutant) => isSame(survivor, mutant))
  )
