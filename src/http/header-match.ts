/** Conditions on values and on headers of a request, compiled: whoever chooses by them shares what they mean. */
import { Result } from "effect"
import { compilePattern, type Pattern } from "../regex/whole-text.ts"
import { isHeaderName } from "./header-list.ts"
import type { RequestHead } from "./message.ts"

/** A value in full: byte for byte, or a whole-text match of an RE2 pattern. */
export type ValueMatch = { readonly exact: string } | { readonly regex: string }

export interface HeaderMatch {
  /** Any case. `:method`, `:path` (with query), `:authority` and `:scheme` name parts of the request; `host` is `:authority`. */
  readonly name: string
  readonly value: ValueMatch
}

/** Whether a header condition holds. */
export type HeaderTest = (request: RequestHead) => boolean

/** What is wrong with a condition; the path is relative to it. */
export interface MatchProblem {
  readonly path: ReadonlyArray<string | number>
  readonly message: string
}

export const compileRegex = (source: string): Result.Result<Pattern, MatchProblem> =>
  Result.mapError(compilePattern(source), (message) => ({ path: ["regex"], message }))

export const compileValue = (value: ValueMatch): Result.Result<(text: string) => boolean, MatchProblem> => {
  if ("regex" in value) return Result.map(compileRegex(value.regex), (pattern) => (text) => pattern.matches(text))
  const { exact } = value
  return Result.succeed((text) => text === exact)
}

export const underValue = (problem: MatchProblem): MatchProblem => ({ ...problem, path: ["value", ...problem.path] })

const authority = (request: RequestHead) => request.authority
const requestParts: ReadonlyMap<string, (request: RequestHead) => string> = new Map([
  [":method", (request) => request.method],
  [":path", (request) => request.pathAndQuery],
  [":authority", authority],
  [":scheme", (request) => request.scheme],
  // The host header became the authority at the edge.
  ["host", authority]
])

/** Compiles a header condition: it holds when any line of that name matches. Problems carry paths relative to it. */
export const compileHeaderMatch = (header: HeaderMatch): Result.Result<HeaderTest, MatchProblem> => {
  const name = header.name.toLowerCase()
  const part = requestParts.get(name)
  if (part === undefined && !isHeaderName(name))
    return Result.fail({ path: ["name"], message: "neither a header name nor :method, :path, :authority or :scheme" })
  // Like the authority of every request.
  const lower = part === authority && "exact" in header.value
  const value = lower ? { exact: header.value.exact.toLowerCase() } : header.value
  return Result.mapBoth(compileValue(value), {
    onFailure: underValue,
    onSuccess: (holds): HeaderTest => {
      if (part !== undefined) return (request) => holds(part(request))
      return ({ headers: { flat } }) => {
        for (let i = 0; i < flat.length; i += 2) if (flat[i] === name && holds(flat[i + 1]!)) return true
        return false
      }
    }
  })
}
