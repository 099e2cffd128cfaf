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
import { octetsOf, type Paths, readPath } from "../http/path.ts"
import type { ConfigPath, ConfigProblem } from "../pipeline/stage.ts"
import type { Pattern } from "../regex/whole-text.ts"

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

/** A path condition with its rank. */
export interface RankedPath {
  readonly path: PathCondition
  /** Characters of the path, of the prefix without trailing slashes, or of the pattern. */
  readonly length: number
}

/** Whether a query condition holds for the decoded query. */
export type QueryTest = (query: ReadonlyMap<string, string>) => boolean

export interface CompiledMatch extends RankedPath {
  /** The other reading of its path: whoever asks for that asks for the same. */
  readonly other: RankedPath | undefined
  /** That of the path condition, if it is one. */
  readonly pattern: Pattern | undefined
  readonly method: string | undefined
  readonly headers: ReadonlyArray<HeaderTest>
  readonly query: ReadonlyArray<QueryTest>
}

const none: ReadonlyArray<never> = Object.freeze([])

/**
 * Compiles a match. Problems carry paths relative to it.
 * @param paths in what form requests show their paths; that of the match follows it.
 */
export const compileMatch = (
  match: RouteMatch,
  paths: Paths = "normalised"
): Result.Result<CompiledMatch, ReadonlyArray<ConfigProblem>> => {
  const problems: Array<ConfigProblem> = []
  const keep = <A>(compiled: Result.Result<A, ConfigProblem>, at: ConfigPath): ReadonlyArray<A> => {
    if (Result.isSuccess(compiled)) return [compiled.success]
    problems.push({ path: [...at, ...compiled.failure.path], message: compiled.failure.message })
    return []
  }
  const configured = match.path ?? { pathPrefix: "/" }
  const [path] = keep(compilePath(configured, paths), ["path"])
  const headers = (match.headers ?? []).flatMap((header, index) => keep(compileHeaderMatch(header), ["headers", index]))
  const query = (match.query ?? []).flatMap((parameter, index) => keep(compileQuery(parameter), ["query", index]))
  if (path === undefined || problems.length > 0) return Result.fail(problems)
  return Result.succeed({
    ...path[0],
    other: path[1],
    pattern: path[0].path._tag === "Regex" ? path[0].path.pattern : undefined,
    method: match.method,
    headers: headers.length === 0 ? none : headers,
    query: query.length === 0 ? none : query
  })
}

const withoutTrailingSlashes = (prefix: string): string => {
  let end = prefix.length
  while (end > 0 && prefix[end - 1] === "/") end--
  return prefix.slice(0, end)
}

const exact = (path: string): RankedPath => ({ path: { _tag: "Exact", path }, length: path.length })
const below = (path: string): RankedPath => {
  const prefix = withoutTrailingSlashes(path)
  return { path: { _tag: "Prefix", prefix }, length: prefix.length }
}

/** The condition, and that of the other reading of its path. */
type Readings = readonly [path: RankedPath, other?: RankedPath | undefined]

const compilePath = (path: PathMatch, paths: Paths): Result.Result<Readings, ConfigProblem> => {
  if ("exact" in path) return readings("exact", path.exact, paths, exact)
  if ("pathPrefix" in path)
    return path.pathPrefix === "" || path.pathPrefix.startsWith("/")
      ? readings("pathPrefix", path.pathPrefix, paths, below)
      : Result.fail({ path: ["pathPrefix"], message: "a path prefix begins with a slash" })
  return Result.map(
    compileRegex(path.regex),
    (pattern): Readings => [{ path: { _tag: "Regex", pattern }, length: path.regex.length }]
  )
}

const readings = (
  key: string,
  written: string,
  paths: Paths,
  condition: (path: string) => RankedPath
): Result.Result<Readings, ConfigProblem> => {
  if (paths === "raw" || !written.startsWith("/")) return Result.succeed([condition(written)])
  const read = readPath(octetsOf(written))
  if ("fault" in read) return Result.fail({ path: [key], message: `no request has such a path: ${read.fault}` })
  return Result.succeed([condition(read.path), read.other === undefined ? undefined : condition(read.other)])
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
