/** The table against an oracle that tries every match of every route, on configurations and requests made to meet. */
import { assert, it } from "@effect/vitest"
import { Arbitrary, Effect, Schema } from "effect"
import { HeaderList } from "../http/header-list.ts"
import type { ValueMatch } from "../http/header-match.ts"
import { RequestHead } from "../http/message.ts"
import type { PathMatch, RouteMatch } from "./match.ts"
import { compileRoutes, type RouteEntry } from "./table.ts"

const oneOf = <const A extends ReadonlyArray<string | undefined>>(...values: A): Arbitrary.Arbitrary<A[number]> =>
  Arbitrary.map(
    Arbitrary.schema(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: values.length - 1 }))),
    (index) => values[index]
  )

const hosts = ["a.b.c", "x.b.c", "b.c", "x.c", "d", "x.y.b.c"] as const
const hostname = oneOf("a.b.c", "b.c", "d", "*.b.c", "*.c", "*", "*.y.b.c")
const path = Arbitrary.map(
  Arbitrary.array(oneOf("a", "b", "a", "b", "ab", ""), { minLength: 1, maxLength: 3 }),
  (segments) => `/${segments.join("/")}`
)
const regexes = ["/a", "/a/.*", ".*", "/ab?", "/(a|b)/[ab]+", "^/a/b(/.*)?$", "/ab/.*", "/a.*b", "^/[^/]*$"] as const

const pathMatch = Arbitrary.flatMap(
  oneOf("exact", "exact", "exact", "pathPrefix", "pathPrefix", "regex", undefined),
  (kind): Arbitrary.Arbitrary<PathMatch | undefined> => {
    switch (kind) {
      case "exact":
        return Arbitrary.map(path, (exact) => ({ exact }))
      case "pathPrefix":
        return Arbitrary.map(path, (pathPrefix) => ({ pathPrefix }))
      case "regex":
        return Arbitrary.map(oneOf(...regexes), (regex) => ({ regex }))
      default:
        return Arbitrary.Constant(undefined)
    }
  }
)

const value: Arbitrary.Arbitrary<ValueMatch> = Arbitrary.map(oneOf("1", "2", "[12]"), (text) =>
  text === "[12]" ? { regex: text } : { exact: text }
)
const conditions = (...names: ReadonlyArray<"x" | "y" | ":method">) =>
  Arbitrary.map(
    Arbitrary.array(Arbitrary.all({ name: oneOf(...names), value }), { maxLength: 3 }),
    // Mostly none, or nothing ever matches.
    (found) => found.slice(1).filter((condition) => condition.name !== undefined)
  )

const match: Arbitrary.Arbitrary<RouteMatch> = Arbitrary.all({
  path: pathMatch,
  method: oneOf(undefined, undefined, "GET", "POST"),
  headers: conditions("x", "y"),
  query: conditions("x", "y")
})

const routes = Arbitrary.map(
  Arbitrary.array(
    Arbitrary.all({
      hostnames: Arbitrary.array(hostname, { maxLength: 2 }),
      matches: Arbitrary.array(match, { maxLength: 3 })
    }),
    { minLength: 1, maxLength: 12 }
  ),
  (list): ReadonlyArray<RouteEntry<number>> =>
    list.map((route, index) => ({ ...route, key: `route${index}`, value: index }))
)

const lines = Arbitrary.array(Arbitrary.all([oneOf("x", "y"), oneOf("1", "2", "3")]), { maxLength: 3 })
const request = Arbitrary.map(
  Arbitrary.all({ host: oneOf(...hosts), method: oneOf("GET", "POST"), path, headers: lines, query: lines }),
  ({ host, method, path, headers, query }) =>
    new RequestHead(
      method,
      "http",
      `${host}:8080`,
      `${path}${query.length === 0 ? "" : `?${query.map(([name, text]) => `${name}=%3${text}`).join("&")}`}`,
      HeaderList.from(headers)
    )
)

interface Hit {
  readonly route: RouteEntry<number>
  readonly match: RouteMatch
  readonly bucket: number
}

const pathOf = (match: RouteMatch): PathMatch => match.path ?? { pathPrefix: "/" }
const trimmed = (prefix: string) => prefix.replace(/\/+$/, "")
const full = (regex: string) => new RegExp(`^(?:${regex})$`)

const pathHolds = (condition: PathMatch, path: string): boolean => {
  if ("exact" in condition) return path === condition.exact
  if ("regex" in condition) return full(condition.regex).test(path)
  const prefix = trimmed(condition.pathPrefix)
  return path === prefix || path.startsWith(`${prefix}/`)
}

const valueHolds = (condition: ValueMatch, text: string): boolean =>
  "exact" in condition ? text === condition.exact : full(condition.regex).test(text)

const holds = ({ path, method, headers = [], query = [] }: RouteMatch, request: RequestHead): boolean =>
  pathHolds(path ?? { pathPrefix: "/" }, request.path) &&
  (method === undefined || method === request.method) &&
  headers.every(({ name, value }) => request.headers.getAll(name).some((text) => valueHolds(value, text))) &&
  query.every(({ name, value }) => {
    const last = new URLSearchParams(request.query).getAll(name).at(-1)
    return last !== undefined && valueHolds(value, last)
  })

/** How specific a hostname is for a host; `undefined` when it does not match. */
const bucketOf = (hostname: string, host: string): number | undefined => {
  if (hostname === "*") return 0
  if (hostname.startsWith("*")) return host.endsWith(hostname.slice(1)) ? hostname.length : undefined
  return hostname === host ? Number.POSITIVE_INFINITY : undefined
}

const rank = ({ bucket, route, match }: Hit): ReadonlyArray<number | string> => {
  const path = pathOf(match)
  const text = "exact" in path ? path.exact : "regex" in path ? path.regex : trimmed(path.pathPrefix)
  return [
    -bucket,
    "exact" in path ? 0 : 1,
    -text.length,
    match.method === undefined ? 1 : 0,
    -(match.headers ?? []).length,
    -(match.query ?? []).length,
    route.key
  ]
}

const before = (a: ReadonlyArray<number | string>, b: ReadonlyArray<number | string>): boolean => {
  const at = a.findIndex((part, index) => part !== b[index])
  return at >= 0 && a[at]! < b[at]!
}

const bucketsOf = (route: RouteEntry<number>, host: string): ReadonlyArray<number> =>
  (route.hostnames?.length ? route.hostnames : ["*"]).flatMap((hostname) => bucketOf(hostname, host) ?? [])

const oracle = (routes: ReadonlyArray<RouteEntry<number>>, request: RequestHead): Hit | undefined =>
  routes
    .flatMap((route) =>
      bucketsOf(route, request.host).flatMap((bucket) =>
        (route.matches ?? [{}]).filter((match) => holds(match, request)).map((match): Hit => ({ route, match, bucket }))
      )
    )
    .reduce<Hit | undefined>(
      (best, hit) => (best === undefined || before(rank(hit), rank(best)) ? hit : best),
      undefined
    )

/** The routes with their paths as they are when slashes are merged. */
const merged = (routes: ReadonlyArray<RouteEntry<number>>): ReadonlyArray<RouteEntry<number>> => {
  const once = (path: string) => path.replace(/\/{2,}/g, "/")
  const match = (own: RouteMatch): RouteMatch => {
    const path = pathOf(own)
    if ("exact" in path) return { ...own, path: { exact: once(path.exact) } }
    return "pathPrefix" in path ? { ...own, path: { pathPrefix: once(path.pathPrefix) } } : own
  }
  return routes.map((route) => ({ ...route, matches: route.matches?.map(match) }))
}

it.effect("a table finds what trying everything finds", () =>
  Effect.gen(function* () {
    const reached = { unmatched: 0, exact: 0, prefix: 0, regex: 0, method: 0, headers: 0, query: 0, fallthrough: 0 }
    const outcome = yield* Arbitrary.checkEffect(
      Arbitrary.all({
        paths: oneOf("normalised", "raw"),
        written: routes,
        requests: Arbitrary.array(request, { minLength: 8, maxLength: 12 })
      }),
      ({ paths, written, requests }) => {
        const table = Effect.runSync(compileRoutes(written, paths))
        if (paths === "normalised") for (const request of requests) request.moveTo(request.pathAndQuery)
        const routes = paths === "normalised" ? merged(written) : written
        return requests.every((request) => {
          const expected = oracle(routes, request)
          const found = table.find(request)
          if (expected === undefined) reached.unmatched++
          else {
            const path = pathOf(expected.match)
            if ("exact" in path) reached.exact++
            else if ("regex" in path) reached.regex++
            else reached.prefix++
            if (expected.match.method !== undefined) reached.method++
            if (expected.match.headers?.length) reached.headers++
            if (expected.match.query?.length) reached.query++
            if (routes.some((route) => bucketsOf(route, request.host).some((bucket) => bucket > expected.bucket)))
              reached.fallthrough++
          }
          const prefix = expected === undefined ? undefined : pathOf(expected.match)
          return (
            found?.value === expected?.route.value &&
            found?.prefix ===
              (prefix !== undefined && "pathPrefix" in prefix ? trimmed(prefix.pathPrefix) : undefined) &&
            table.candidates(request).join() ===
              routes
                .filter((route) => bucketsOf(route, request.host).length > 0)
                .map((route) => route.key)
                .sort()
                .join()
          )
        })
      },
      { runs: 1_000, size: 30 }
    )
    assert.strictEqual(outcome._tag, "Passed", Arbitrary.formatCheckFailure(outcome))
    for (const [what, times] of Object.entries(reached)) assert.isAtLeast(times, 100, what)
  })
)
