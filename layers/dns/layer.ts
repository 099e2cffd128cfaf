/** The port `Names` over the hosts file and the name servers of the system, asked as nsswitch.conf and resolv.conf say. */
import { Clock, Effect, Layer } from "effect"
import { containerOf, Defects } from "../../src/services/defects.ts"
import { Metrics } from "../../src/services/metrics.ts"
import { type Families, Names } from "../../src/services/names.ts"
import type { Later } from "../../src/services/timer.ts"
import { Book } from "./book.ts"
import { makeQuery } from "./query.ts"
import { absent, candidates, type Found, familiesOf, searchFor } from "./search.ts"
import { type Pinned, parseHosts, parseOrder, parseResolver, type Source, SystemFile } from "./system-file.ts"

export interface DnsOptions {
  /** Addresses with ports. Default: those of the resolver file. */
  readonly servers?: ReadonlyArray<string>
  readonly hostsFile?: string
  readonly resolverFile?: string
  /** Says which of both comes first. */
  readonly orderFile?: string
}

/** Seconds for which what a file says is kept, and after which a name that is followed is looked up in it again. */
const fileTtl = 5

const loopback = { v4: ["127.0.0.1"], v6: ["::1"] }

export const dnsMetrics = (metrics: Metrics["Service"]) => ({
  lookups: metrics.counter(
    "dns_lookups_total",
    "Lookups of names of backends, by what came of them: `found`, `absent` (there is no such name), `failed` (nobody could say; addresses known before still hold).",
    ["outcome"]
  ),
  evictions: metrics
    .counter("dns_evictions_total", "Names that were dropped from memory for others, of which there were too many.", [])
    .series([])
})

/** Where a system has its hosts file. */
export const hostsFile = (platform: NodeJS.Platform, env: Readonly<Record<string, string | undefined>>): string =>
  platform === "win32" ? `${env["SystemRoot"] ?? "C:\\Windows"}\\System32\\drivers\\etc\\hosts` : "/etc/hosts"

export const layer = (options: DnsOptions = {}): Layer.Layer<Names, never, Metrics> =>
  Layer.effect(
    Names,
    Effect.gen(function* () {
      const clock = yield* Clock.Clock
      const { lookups, evictions } = dnsMetrics(yield* Metrics)
      const container = containerOf(yield* Defects, "timer")
      const hosts = new SystemFile(options.hostsFile ?? hostsFile(process.platform, process.env), parseHosts)
      const resolver = new SystemFile(options.resolverFile ?? "/etc/resolv.conf", parseResolver)
      const order = new SystemFile(options.orderFile ?? "/etc/nsswitch.conf", parseOrder)
      const run = Effect.runForkWith(yield* Effect.context<never>())
      const later: Later = (milliseconds, action) => {
        const fiber = run(
          Effect.andThen(
            Effect.sleep(milliseconds),
            Effect.try({ try: action, catch: (cause) => cause }).pipe(
              Effect.catch((cause) => Effect.sync(() => container.contain(cause)))
            )
          )
        )
        return () => fiber.interruptUnsafe()
      }
      const ask = () => makeQuery({ servers: options.servers, ...resolver.value })
      let asking = ask()
      const lookUp = (name: string, families: Families, steadfast: boolean, found: Found) => {
        const bare = name.endsWith(".") ? name.slice(0, -1) : name
        const wanted = familiesOf(families)
        const pin = (pinned: Pinned | undefined): boolean => {
          if (pinned === undefined || wanted.every((family) => pinned[family].length === 0)) return false
          for (const family of wanted)
            found.family(family, pinned[family].length === 0 ? "none" : { addresses: pinned[family], ttl: fileTtl })
          found.over(undefined)
          return true
        }
        const askServers = (over: Found["over"]) => {
          // This machine, and nothing: name servers need not be asked (RFC 6761 6.3, 6.4).
          if (bare.endsWith(".localhost")) pin(loopback)
          else if (bare.endsWith(".invalid")) over(absent)
          else searchFor(candidates(name, resolver.value), families, asking.query, steadfast, { ...found, over })
        }
        const search = (sources: ReadonlyArray<Source>, failure: string): void => {
          const [first, ...rest] = sources
          if (first === undefined) found.over(failure)
          else if (first.source === "files") {
            if (!pin(hosts.value.get(bare))) search(first.decides ? [] : rest, failure)
          } else
            askServers((why) => {
              // Older answers hold where the servers cannot say.
              if (why === undefined || (why === absent ? first.decides : steadfast)) found.over(why)
              else search(rest, why)
            })
        }
        if (bare === "localhost") pin(loopback)
        else search(order.value, absent)
      }
      const book = new Book({
        lookUp,
        changed: () => {
          const moved = [hosts.refresh(), order.refresh()].includes(true)
          if (!resolver.refresh()) return moved
          // Questions that are open end by themselves.
          asking = ask()
          return true
        },
        now: () => Number(clock.monotonicTimeNanosUnsafe()) / 1e6,
        later,
        count: (outcome) => lookups.series([outcome]).record(1),
        evicted: () => evictions.record(1)
      })
      yield* Effect.addFinalizer(() =>
        Effect.sync(() => {
          book.close()
          asking.close()
        })
      )
      return book
    })
  )
