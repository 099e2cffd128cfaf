/** Which models a key may use: names, and patterns with one `*` at an end. */
import type { slots } from "../../src/policy/policy.ts"

/** @param patterns exact, `prefix*`, `*suffix`, or `*`; none admits nothing. */
export const compileModelAccess = (patterns: ReadonlyArray<string>): slots.ModelAccess => {
  if (patterns.includes("*")) return { patterns, allows: () => true }
  const exact = new Set(patterns.filter((pattern) => !pattern.includes("*")))
  const prefixes = patterns.filter((pattern) => pattern.endsWith("*")).map((pattern) => pattern.slice(0, -1))
  const suffixes = patterns.filter((pattern) => pattern.startsWith("*")).map((pattern) => pattern.slice(1))
  return {
    patterns,
    allows: (model) =>
      exact.has(model) ||
      prefixes.some((prefix) => model.startsWith(prefix)) ||
      suffixes.some((suffix) => model.endsWith(suffix))
  }
}
