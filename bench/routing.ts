/** What a route look-up costs, among 10 routes and among 10,000. Budget: 2 µs between them. */
import { Effect } from "effect"
import { HeaderList } from "../src/http/header-list.ts"
import { RequestHead } from "../src/http/message.ts"
import { compileRoutes, type RouteTable } from "../src/routing/table.ts"

export interface LookupCost {
  readonly request: string
  /** Microseconds per look-up, the median of the rounds. */
  readonly few: number
  readonly many: number
  readonly difference: number
}

const budget = 2
const rounds = 15
const lookupsPerRound = 20_000

/** A third of the routes by exact path, by prefix with a header condition, and by pattern; a tenth under wildcard hosts. */
const tableOf = (count: number): RouteTable<number> =>
  Effect.runSync(
    compileRoutes(
      Array.from({ length: count }, (_, n) => ({
        key: `default/route${n}`,
        hostnames: n % 10 === 9 ? [`*.zone${n}.example.com`] : [],
        matches: [
          n % 3 === 0
            ? { path: { exact: `/v1/service${n}/status` }, method: "GET" }
            : n % 3 === 1
              ? {
                  path: { pathPrefix: `/v1/service${n}` },
                  headers: [{ name: "x-version", value: { exact: "2" } }]
                }
              : { path: { regex: `^/v1/service${n}/items/[0-9]+$` } }
        ],
        value: n
      }))
    )
  )

/** By kind, the host and path of a request that comes to route `n`, or near it. */
const kinds: Readonly<Record<string, (n: number) => readonly [host: string, path: string]>> = {
  "exact path": (n) => ["h", `/v1/service${n - (n % 3)}/status`],
  prefix: (n) => ["h", `/v1/service${n - (n % 3) + 1}/some/where?x=1`],
  pattern: (n) => ["h", `/v1/service${n - (n % 3) + 2}/items/${n}`],
  "wildcard host, then prefix": (n) => [`a.zone${n - (n % 10) + 9}.example.com`, `/v1/service${n - (n % 3) + 1}/x`],
  nothing: (n) => ["h", `/v2/service${n}/other`]
}

const headers = new HeaderList(["accept", "*/*", "user-agent", "bench", "authorization", "Bearer x", "x-version", "2"])

/** Requests all over the table, their strings as new to the engine as those off a socket. */
const requestsTo = (count: number, kind: (n: number) => readonly [string, string]): ReadonlyArray<RequestHead> =>
  Array.from({ length: lookupsPerRound }, (_, i) => {
    // A step prime to the count visits the routes in no order that memory would like.
    const [host, path] = kind((i * 7919) % count)
    return new RequestHead("GET", "http", host, Buffer.from(path, "latin1").toString("latin1"), headers)
  })

/** Microseconds per look-up in one round. */
const round = (table: RouteTable<number>, requests: ReadonlyArray<RequestHead>): number => {
  const start = performance.now()
  for (const request of requests) table.find(request)
  return ((performance.now() - start) * 1000) / requests.length
}

const median = (values: ReadonlyArray<number>): number => values.toSorted((a, b) => a - b)[values.length >> 1]!

/** Measures in alternating rounds, so that a busy machine slows both sides alike. */
export const measureLookups = (): ReadonlyArray<LookupCost> => {
  const few = tableOf(10)
  const many = tableOf(10_000)
  return Object.entries(kinds).map(([request, kind]) => {
    const pairs = Array.from(
      { length: rounds },
      () => [round(few, requestsTo(10, kind)), round(many, requestsTo(10_000, kind))] as const
    )
    const [costFew, costMany] = [median(pairs.map(([cost]) => cost)), median(pairs.map(([, cost]) => cost))]
    return { request, few: costFew, many: costMany, difference: costMany - costFew }
  })
}

if (import.meta.main) {
  const costs = measureLookups()
  for (const { request, few, many, difference } of costs)
    console.log(
      `${request.padEnd(28)} 10: ${few.toFixed(3)} µs  10,000: ${many.toFixed(3)} µs  difference: ${difference.toFixed(3)} µs`
    )
  if (costs.some(({ difference }) => difference > budget)) {
    console.error(`over the budget of ${budget} µs`)
    process.exitCode = 1
  }
}
