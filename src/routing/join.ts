/** How the configurations of a policy that adds up become one. Each join takes them the least specific first. */

/** Joins two or more decoded configurations of one policy. */
export type Join = (configs: ReadonlyArray<unknown>) => unknown

type Fields = Readonly<Record<string, unknown>>

/** The decoded form of every policy whose rules add up. */
export interface RuleSet {
  readonly rules: ReadonlyArray<unknown>
}

const isFields = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value)

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
export const joinRules: Join = (configs) => ({
  rules: configs.flatMap((config) => (isFields(config) && Array.isArray(config["rules"]) ? config["rules"] : []))
})

/** Each field from the most specific configuration that has something there; a map or list is taken whole. */
export const joinAi: Join = (configs) =>
  Object.fromEntries(
    configs.filter(isFields).flatMap((config) => Object.entries(config).filter(([, value]) => !isEmpty(value)))
  )

/** The most specific access log, which exports where the next wider one does unless it says where itself. */
export const withInheritedExporter: Join = (configs) => {
  const logs = configs.filter(isFields)
  const otlp = logs.findLast((log) => log["otlp"] !== undefined)?.["otlp"]
  return otlp === undefined ? logs.at(-1) : { ...logs.at(-1), otlp }
}
