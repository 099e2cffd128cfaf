/**
 * The routes of a listener or of a route group as a table: compiled once, asked for every request. What a look-up costs
 * depends on the request and on the routes whose path fits it, never on how many others there are.
 */
import { Effect, Result } from "effect"
import type { RequestHead } from "../http/message.ts"
import type { Paths } from "../http/path.ts"
import type { ConfigPath, ConfigProblem } from "../pipeline/stage.ts"
import { Bucket, Lookup } from "./bucket.ts"
import { canonicalHostnames, HostnameIndex } from "./hostnames.ts"
import { type CompiledMatch, compareMatches, compileMatch, type RouteMatch } from "./match.ts"
import { sorted } from "./sorted.ts"

/** A route as the table needs it. */
export interface RouteEntry<T> {
  /** Unique in the table. Among equal matches the lexicographically smaller key wins. */
  readonly key: string
  /** None, an empty one or a plain `*`: any host. */
  readonly hostnames?: ReadonlyArray<string> | undefined
  /** One of them must match. Absent: every path; empty: nothing. */
  readonly matches?: ReadonlyArray<RouteMatch> | undefined
  readonly value: T
}

export interface Found<T> {
  readonly value: T
  /** The path prefix that matched, without trailing slashes (so `""` for `/`); `undefined` when it was no prefix match. */
  readonly prefix: string | undefined
}

interface Host<T> {
  readonly keys: Array<string>
  readonly bucket: Bucket<Found<T>>
}

export class RouteTable<T> {
  readonly #hosts: HostnameIndex<Host<T>>
  readonly #lookup = new Lookup<Found<T>>()

  constructor(hosts: ReadonlyMap<string, Host<T>>) {
    this.#hosts = new HostnameIndex(hosts)
  }

  /** The first match, in order, of the most specific hostname that has one. */
  find(request: RequestHead): Found<T> | undefined {
    const { path } = request
    const lookup = this.#lookup
    lookup.begin()
    for (let host = this.#hosts.find(request.host); host !== undefined; host = host.wider) {
      const found = host.value.bucket.find(path, request, lookup)
      if (found !== undefined) return found
    }
    return undefined
  }

  /** How many matches the last look-up had to try: what its cost grows with. */
  get visited(): number {
    return this.#lookup.visited
  }

  /** For the trace: the sorted keys of the routes whose hostnames fit. Allocates. */
  candidates(request: RequestHead): ReadonlyArray<string> {
    const keys = new Set<string>()
    for (let host = this.#hosts.find(request.host); host !== undefined; host = host.wider)
      for (const key of host.value.keys) keys.add(key)
    return [...keys].sort()
  }
}

interface Ranked<T> {
  readonly match: CompiledMatch
  readonly found: Found<T>
  readonly key: string
  readonly hostnames: ReadonlySet<string>
  /** Whether it matches the path as others may read it: then a route that is written for that path comes first. */
  readonly isOther: boolean
}

const noHosts: ReadonlySet<string> = new Set()

/**
 * Compiles a table, in steps. A problem's path begins with the index of the route: `[3, "matches", 0, "path", "regex"]`.
 * @param paths in what form requests show their paths.
 */
export const compileRoutes = <T>(
  routes: ReadonlyArray<RouteEntry<T>>,
  paths: Paths = "normalised"
): Effect.Effect<RouteTable<T>, ReadonlyArray<ConfigProblem>> =>
  Effect.gen(function* () {
    const problems: Array<ConfigProblem> = []
    const hosts = new Map<string, Host<T>>()
    const ranked: Array<Ranked<T>> = []
    const read = (route: RouteEntry<T>, index: number) => {
      const report = (place: ConfigPath, found: ReadonlyArray<ConfigProblem>) => {
        for (const { path, message } of found) problems.push({ path: [index, ...place, ...path], message })
      }
      const canonical = canonicalHostnames(route.hostnames)
      if (Result.isFailure(canonical)) report(["hostnames"], canonical.failure)
      const hostnames = Result.getOrElse(canonical, () => noHosts)
      for (const hostname of hostnames) {
        const host = hosts.get(hostname)
        if (host === undefined) hosts.set(hostname, { keys: [route.key], bucket: new Bucket() })
        else host.keys.push(route.key)
      }
      for (const [place, configured] of (route.matches ?? [{}]).entries()) {
        const match = compileMatch(configured, paths)
        if (Result.isFailure(match)) {
          report(["matches", place], match.failure)
          continue
        }
        const rank = (match: CompiledMatch, isOther: boolean) => {
          const { path } = match
          const prefix = path._tag === "Prefix" ? path.prefix : undefined
          ranked.push({ key: route.key, hostnames, match, found: { value: route.value, prefix }, isOther })
        }
        const { other } = match.success
        rank(match.success, false)
        if (other !== undefined) rank({ ...match.success, ...other }, true)
      }
    }
    for (const [index, route] of routes.entries()) yield* Effect.sync(() => read(route, index))
    if (problems.length > 0) return yield* Effect.fail(problems)
    const order = yield* sorted(
      ranked,
      (a, b) =>
        b.match.length - a.match.length ||
        Number(a.isOther) - Number(b.isOther) ||
        compareMatches(a.match, b.match) ||
        (a.key < b.key ? -1 : a.key > b.key ? 1 : 0)
    )
    const enter = ({ match, found, hostnames }: Ranked<T>, ordinal: number) => {
      const candidate = { ...match, ordinal, found }
      for (const hostname of hostnames) hosts.get(hostname)!.bucket.add(candidate)
    }
    for (const [ordinal, each] of order.entries()) yield* Effect.sync(() => enter(each, ordinal))
    return new RouteTable(hosts)
  })
