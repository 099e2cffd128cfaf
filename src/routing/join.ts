/** How the configurations of a policy that adds up become one. Each join takes them the least specific first. */
import type { Path } from "../../spec/config/path.ts"
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

/**
 * One rule set with the rules of all. Any rule may deny, every required one must hold, one that allows is enough: how the
 * rules are spread over sets makes no difference.
 */
export const joinRules: Join = (branches) => {
  const rules = branches.flatMap((branch): ReadonlyArray<Part> => {
    const own = isFields(branch.config) ? branch.config["rules"] : undefined
    return Array.isArray(own) ? own.map((value, index) => ({ value, path: writtenAt(branch, ["rules", index]) })) : []
  })
  return {
    config: { rules: rules.map(({ value }) => value) },
    origins: rules.map(({ path }, index) => ({ part: ["rules", index], path }))
  }
}

/** Each field from the most specific configuration that has something there; a map or list is taken whole. */
export const joinAi: Join = (branches) =>
  ofFields(new Map(branches.flatMap(fieldsOf).filter(([, { value }]) => !isEmpty(value))))

/** The most specific access log, which exports where the next wider one does unless it says where itself. */
export const withInheritedExporter: Join = (branches) => {
  const exporters = branches.flatMap(fieldsOf).filter(([key, { value }]) => key === "otlp" && value !== undefined)
  return ofFields(new Map([...fieldsOf(branches.at(-1)!), ...exporters.slice(-1)]))
}
