/** One match of a route, compiled: path, method, header and query conditions that must all hold, and its rank among others. */
import { Result } from "effect"
import {
  compileHeaderMatch,
  compileRegex,
  compileValue,
  type HeaderMatch,
  type HeaderTest,
  underValue,
  type ValueMatch
} from "../http/header-match.ts"
import type { Pattern } from "../http/pattern.ts"
import type { ConfigPath, ConfigProblem } from "../pipeline/stage.ts"

export type PathMatch = { readonly exact: string } | { readonly pathPrefix: string } | { readonly regex: string }

export interface QueryMatch {
  readonly name: string
  readonly value: ValueMatch
}

/** As configured. */
export interface RouteMatch {
  /** Default: every path. */
  readonly path?: PathMatch | undefined
  readonly headers?: ReadonlyArray<HeaderMatch> | undefined
  /** Case-sensitive. */
  readonly method?: string | undefined
  readonly query?: ReadonlyArray<QueryMatch> | undefined
}

export type PathCondition =
  | { readonly _tag: "Exact"; readonly path: string }
  /** Without trailing slashes: `/` is the empty prefix. */
  | { readonly _tag: "Prefix"; readonly prefix: string }
  | { readonly _tag: "Regex"; readonly pattern: Pattern }

/** Whether a query condition holds for the decoded query. */
export type QueryTest = (query: ReadonlyMap<string, string>) => boolean

export interface CompiledMatch {
  readonly path: PathCondition
  /** That of the path condition, if it is one. */
  readonly pattern: Pattern | undefined
  /** Characters of the path, of the prefix without trailing slashes, or of the pattern. */
  readonly length: number
  readonly method: string | undefined
  readonly headers: ReadonlyArray<HeaderTest>
  readonly query: ReadonlyArray<QueryTest>
}

const none: ReadonlyArray<never> = Object.freeze([])

/** Compiles a match. Problems carry paths relative to it. */
export const compileMatch = (match: RouteMatch): Result.Result<CompiledMatch, ReadonlyArray<ConfigProblem>> => {
  const problems: Array<ConfigProblem> = []
  const keep = <A>(compiled: Result.Result<A, ConfigProblem>, at: ConfigPath): ReadonlyArray<A> => {
    if (Result.isSuccess(compiled)) return [compiled.success]
    problems.push({ path: [...at, ...compiled.failure.path], message: compiled.failure.message })
    return []
  }
  const configured = match.path ?? { pathPrefix: "/" }
  const [path] = keep(compilePath(configured), ["path"])
  const headers = (match.headers ?? []).flatMap((header, index) => keep(compileHeaderMatch(header), ["headers", index]))
  const query = (match.query ?? []).flatMap((parameter, index) => keep(compileQuery(parameter), ["query", index]))
  if (path === undefined || problems.length > 0) return Result.fail(problems)
  return Result.succeed({
    path,
    pattern: path._tag === "Regex" ? path.pattern : undefined,
    length: textOf(configured).length,
    method: match.method,
    headers: headers.length === 0 ? none : headers,
    query: query.length === 0 ? none : query
  })
}

const textOf = (path: PathMatch): string =>
  "exact" in path ? path.exact : "pathPrefix" in path ? withoutTrailingSlashes(path.pathPrefix) : path.regex

const withoutTrailingSlashes = (prefix: string): string => {
  let end = prefix.length
  while (end > 0 && prefix[end - 1] === "/") end--
  return prefix.slice(0, end)
}

const compilePath = (path: PathMatch): Result.Result<PathCondition, ConfigProblem> => {
  if ("exact" in path) return Result.succeed({ _tag: "Exact", path: path.exact })
  if ("pathPrefix" in path)
    return path.pathPrefix === "" || path.pathPrefix.startsWith("/")
      ? Result.succeed({ _tag: "Prefix", prefix: withoutTrailingSlashes(path.pathPrefix) })
      : Result.fail({ path: ["pathPrefix"], message: "a path prefix begins with a slash" })
  return Result.map(compileRegex(path.regex), (pattern) => ({ _tag: "Regex", pattern }))
}

const compileQuery = ({ name, value }: QueryMatch): Result.Result<QueryTest, ConfigProblem> =>
  Result.mapBoth(compileValue(value), {
    onFailure: underValue,
    onSuccess: (holds): QueryTest => {
      return (query) => {
        const text = query.get(name)
        return text !== undefined && holds(text)
      }
    }
  })

/**
 * Which of two matches is tried first (negative: `a`), exact paths apart, which all come before the others: the longer
 * path text, then the one that names a method, then more header conditions, then more query conditions.
 */
export const compareMatches = (a: CompiledMatch, b: CompiledMatch): number =>
  b.length - a.length ||
  Number(b.method !== undefined) - Number(a.method !== undefined) ||
  b.headers.length - a.headers.length ||
  b.query.length - a.query.length
