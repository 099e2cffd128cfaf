/** How the configurations of a policy that adds up become one. Each join takes them the least specific first. */
import type { Path } from "../../spec/config/path.ts"
import type { Joining } from "../../spec/traits.ts"
import { type PolicyBranch, writtenAt } from "./normalised.ts"

/** A configuration, and where its parts were written. */
type Joined = Required<Pick<PolicyBranch, "config" | "origins">>

/** Joins two or more configurations of one policy. */
export type Join = (branches: ReadonlyArray<PolicyBranch>) => Joined

interface Part {
  readonly value: unknown
  readonly path: Path
}

const isFields = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** The fields of a configuration, each with its place. */
const fieldsOf = (branch: PolicyBranch): ReadonlyArray<readonly [key: string, part: Part]> =>
  isFields(branch.config)
    ? Object.entries(branch.config).map(([key, value]) => [key, { value, path: writtenAt(branch, [key]) }])
    : []

const ofFields = (fields: ReadonlyMap<string, Part>): Joined => ({
  config: Object.fromEntries([...fields].map(([key, { value }]) => [key, value])),
  origins: [...fields].map(([key, { path }]) => ({ part: [key], path }))
})

/** Only plain maps and lists can be empty: a value of a class of its own is never nothing. */
const isEmpty = (value: unknown): boolean =>
  value === undefined ||
  (Array.isArray(value)
    ? value.length === 0
    : isFields(value) && Object.getPrototypeOf(value) === Object.prototype && Object.keys(value).length === 0)

/** How a policy joins what several levels attach; `undefined` where the most specific one counts as a whole. */
export const joinOf = (joining: Joining | undefined): Join | undefined => {
  if (joining === undefined) return undefined
  if (joining === "fields") return fields
  return "lists" in joining ? lists(joining.lists) : inheriting(joining.inherits)
}

/**
 * One list with the items of all. Of rules any may deny, every required one must hold, one that allows is enough: how they are
 * spread over sets makes no difference.
 */
const lists =
  (key: string): Join =>
  (branches) => {
    const items = branches.flatMap((branch): ReadonlyArray<Part> => {
      const own = isFields(branch.config) ? branch.config[key] : undefined
      return Array.isArray(own) ? own.map((value, index) => ({ value, path: writtenAt(branch, [key, index]) })) : []
    })
    return {
      config: { [key]: items.map(({ value }) => value) },
      origins: items.map(({ path }, index) => ({ part: [key, index], path }))
    }
  }

/** Each field from the most specific configuration that has something there; a map or list is taken whole. */
const fields: Join = (branches) =>
  ofFields(new Map(branches.flatMap(fieldsOf).filter(([, { value }]) => !isEmpty(value))))

/** The most specific configuration, with one field from the next wider one that has it unless it has it itself. */
const inheriting =
  (key: string): Join =>
  (branches) => {
    const inherited = branches.flatMap(fieldsOf).filter(([name, { value }]) => name === key && value !== undefined)
    return ofFields(new Map([...fieldsOf(branches.at(-1)!), ...inherited.slice(-1)]))
  }
