/** Regex guards: an ordered list of recognisers that mask what they find, or reject a text in which they find anything. */
import { Result } from "effect"
import { compileSearch, type Span } from "../../../regex/search.ts"
import { type BuiltinName, builtins } from "./builtins.ts"

/** One rule of configuration; a name is for logs only. */
export type RegexRule = { readonly builtin: BuiltinName } | { readonly pattern: string; readonly name?: string }

/** `undefined` from either function: the text was too much work, the guard has failed and nothing is known. */
export interface RegexGuard {
  readonly rejects: (text: string) => boolean | undefined
  /** The text with every match replaced; the very same string when there was none. */
  readonly mask: (text: string) => string | undefined
}

/** What is wrong with which rule. */
export interface RuleProblem {
  readonly index: number
  readonly problem: string
}

interface Recogniser {
  readonly mask: string
  readonly test: (text: string) => boolean | undefined
  readonly findAll: (text: string) => ReadonlyArray<Span> | undefined
}

const patternMask = "<masked>"

const compileRule = (rule: RegexRule): Recogniser | { readonly problem: string } => {
  if ("builtin" in rule) {
    const { mask, findAll } = builtins[rule.builtin]
    return { mask, test: (text) => findAll(text).length > 0, findAll }
  }
  const pattern = compileSearch(rule.pattern)
  return Result.isFailure(pattern) ? { problem: pattern.failure } : { mask: patternMask, ...pattern.success }
}

const replace = (text: string, spans: ReadonlyArray<Span>, mask: string): string => {
  if (spans.length === 0) return text
  let masked = ""
  let at = 0
  for (const { start, end } of spans) {
    masked += text.slice(at, start) + mask
    at = end
  }
  return masked + text.slice(at)
}

/** Compiles the rules. They run in order, each on what the ones before left of the text. */
export const compileRegexGuard = (
  rules: ReadonlyArray<RegexRule>
): Result.Result<RegexGuard, ReadonlyArray<RuleProblem>> => {
  const recognisers: Array<Recogniser> = []
  const problems: Array<RuleProblem> = []
  rules.forEach((rule, index) => {
    const recogniser = compileRule(rule)
    if ("problem" in recogniser) problems.push({ index, problem: recogniser.problem })
    else recognisers.push(recogniser)
  })
  if (problems.length > 0) return Result.fail(problems)
  return Result.succeed({
    rejects: (text) => {
      for (const { test } of recognisers) {
        const found = test(text)
        if (found !== false) return found
      }
      return false
    },
    mask: (text) => {
      let masked = text
      for (const { mask, findAll } of recognisers) {
        const spans = findAll(masked)
        if (spans === undefined) return undefined
        masked = replace(masked, spans, mask)
      }
      return masked
    }
  })
}
