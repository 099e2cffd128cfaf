/** Names as c-ares finds them, from a name server that the test plays. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import { Metrics } from "../../src/services/metrics.ts"
import { type Families, type Known, Names, NameUnresolved } from "../../src/services/names.ts"
import { nameServer, type Zone } from "../../test/http/name-server.ts"
import { eventually } from "../../test/http/raw-client.ts"
import * as Prometheus from "../metrics/prometheus.ts"
import { layer } from "./layer.ts"

const folder = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "headgate-names-"))),
  (path) => Effect.sync(() => rmSync(path, { recursive: true }))
)

/** Names of a zone, of a hosts file and of a resolver file, in a time that the test makes pass. */
const world = (zone: Zone, resolver = "options timeout:1 attempts:1\n", hosts = "", order = "") =>
  Effect.gen(function* () {
    const [path, server, metrics] = [yield* folder, yield* nameServer(zone), Prometheus.make()]
    const files = {
      hostsFile: join(path, "hosts"),
      resolverFile: join(path, "resolv.conf"),
      orderFile: join(path, "nsswitch.conf")
    }
    writeFileSync(files.hostsFile, hosts)
    writeFileSync(files.orderFile, order)
    writeFileSync(files.resolverFile, resolver)
    const context = yield* Effect.provideService(
      Layer.build(layer({ servers: server.servers, ...files })),
      Metrics,
      metrics
    )
    return { ...server, ...files, names: Context.get(context, Names), metrics }
  })

/** What is known in the end. */
const find = (names: Names["Service"], name: string, families: Families = "both") =>
  Effect.callback<Known | string>((resume) => {
    const callOff = names.ask(name, families, (known) => {
      if (known instanceof NameUnresolved) resume(Effect.succeed(known.code))
      else if (known.v4 !== undefined && known.v6 !== undefined) resume(Effect.succeed(known))
    })
    return Effect.sync(callOff)
  })

const v4 = ["192.0.2.1", "192.0.2.2"]
const v6 = ["2001:db8::1"]

describe("a name", () => {
  it.effect("has the addresses of both families", () =>
    Effect.gen(function* () {
      const { names, asked } = yield* world(() => ({ addresses: [...v4, ...v6] }))
      assert.deepStrictEqual(yield* find(names, "a.example"), { v4, v6 })
      assert.deepStrictEqual(asked.toSorted(), ["a.example v4", "a.example v6"])
    })
  )

  it.effect("is asked for in the families that are wanted", () =>
    Effect.gen(function* () {
      const { names, asked } = yield* world(() => ({ addresses: [...v4, ...v6] }))
      assert.deepStrictEqual(yield* find(names, "a.example", "v4"), { v4, v6: [] })
      assert.deepStrictEqual(asked, ["a.example v4"])
    })
  )

  it.effect("may have none of one family", () =>
    Effect.gen(function* () {
      const { names } = yield* world(() => ({ addresses: v4 }))
      assert.deepStrictEqual(yield* find(names, "a.example"), { v4, v6: [] })
    })
  )

  it.effect("may stand for another one, and is kept for as long as both", () =>
    Effect.gen(function* () {
      const { names, asked } = yield* world(() => ({ addresses: v4, alias: "b.example", ttl: 30 }))
      assert.deepStrictEqual(yield* find(names, "a.example", "v4"), { v4, v6: [] })
      yield* TestClock.adjust("29 seconds")
      yield* find(names, "a.example", "v4")
      assert.strictEqual(asked.length, 1)
      yield* TestClock.adjust("1 second")
      yield* find(names, "a.example", "v4")
      assert.strictEqual(asked.length, 2)
    })
  )

  it.effect("is asked for over TCP when its answer does not fit", () =>
    Effect.gen(function* () {
      const { names } = yield* world((_, __, over) => (over === "udp" ? { cut: true } : { addresses: v4 }))
      assert.deepStrictEqual(yield* find(names, "a.example", "v4"), { v4, v6: [] })
    })
  )

  it.effect("that must not be kept at all is kept for a second", () =>
    Effect.gen(function* () {
      let last = 0
      const { names, asked } = yield* world(() => ({ addresses: [`192.0.2.${++last}`], ttl: 0 }))
      const ask = find(names, "a.example", "v4")
      assert.deepStrictEqual(
        [yield* ask, yield* ask],
        [
          { v4: ["192.0.2.1"], v6: [] },
          { v4: ["192.0.2.1"], v6: [] }
        ]
      )
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(yield* ask, { v4: ["192.0.2.2"], v6: [] })
      assert.strictEqual(asked.length, 2)
    })
  )

  it.effect("that does not exist is asked for again a second later", () =>
    Effect.gen(function* () {
      let there = false
      const { names, metrics } = yield* world(() => (there ? { addresses: v4 } : "absent"))
      assert.strictEqual(yield* find(names, "a.example"), "ENOTFOUND")
      there = true
      assert.strictEqual(yield* find(names, "a.example"), "ENOTFOUND")
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(yield* find(names, "a.example"), { v4, v6: [] })
      const { text } = yield* Effect.promise(() => metrics.scrape())
      assert.include(text, 'headgate_dns_lookups_total{outcome="absent"} 1')
      assert.include(text, 'headgate_dns_lookups_total{outcome="found"} 1')
    })
  )

  it.effect("keeps its addresses when its server is broken, or silent", () =>
    Effect.gen(function* () {
      let fault: "broken" | "silence" | undefined
      const { names, metrics } = yield* world(() => fault ?? { addresses: v4 })
      assert.deepStrictEqual(yield* find(names, "a.example"), { v4, v6: [] })
      for (fault of ["broken", "silence"] as const) {
        yield* TestClock.adjust("1 hour")
        assert.deepStrictEqual(yield* find(names, "a.example"), { v4, v6: [] })
      }
      const { text } = yield* Effect.promise(() => metrics.scrape())
      assert.include(text, 'headgate_dns_lookups_total{outcome="failed"} 2')
    })
  )

  it.effect("of which nothing was known is unresolved when its server is broken", () =>
    Effect.gen(function* () {
      const { names } = yield* world(() => "broken")
      assert.strictEqual(yield* find(names, "a.example"), "ESERVFAIL")
    })
  )

  it.effect("is known by one family when the other one is broken", () =>
    Effect.gen(function* () {
      const { names } = yield* world((_, family) => (family === "v6" ? "broken" : { addresses: v4 }))
      assert.deepStrictEqual(yield* find(names, "a.example"), { v4, v6: [] })
    })
  )

  it.effect("is searched for as the resolver file says, which may change", () =>
    Effect.gen(function* () {
      const { names, asked, resolverFile } = yield* world(
        (name) => (name === "a.svc.cluster" ? { addresses: v4 } : "absent"),
        "search ns.cluster svc.cluster\noptions ndots:5\n"
      )
      assert.deepStrictEqual(yield* find(names, "a", "v4"), { v4, v6: [] })
      assert.deepStrictEqual(asked, ["a.ns.cluster v4", "a.svc.cluster v4"])
      asked.length = 0
      assert.strictEqual(yield* find(names, "a.", "v4"), "ENOTFOUND")
      assert.deepStrictEqual(asked, ["a v4"])
      writeFileSync(resolverFile, "search svc.cluster\n")
      asked.length = 0
      assert.deepStrictEqual(yield* find(names, "a", "v4"), { v4, v6: [] })
      assert.deepStrictEqual(asked, ["a.svc.cluster v4"])
    })
  )

  it.effect("in the hosts file is not asked for, and a change of that file is noticed", () =>
    Effect.gen(function* () {
      const { names, asked, hostsFile } = yield* world(() => ({ addresses: v4 }), "", "192.0.2.9 a.example other\n")
      assert.deepStrictEqual(yield* find(names, "A.example"), { v4: ["192.0.2.9"], v6: [] })
      assert.deepStrictEqual(asked, [])
      writeFileSync(hostsFile, "192.0.2.10 a.example\n")
      assert.deepStrictEqual(yield* find(names, "a.example"), { v4: ["192.0.2.10"], v6: [] })
      assert.deepStrictEqual(asked, [])
      rmSync(hostsFile)
      assert.deepStrictEqual(yield* find(names, "a.example"), { v4, v6: [] })
    })
  )

  it.effect("is looked for where nsswitch.conf says, in that order, which may change", () =>
    Effect.gen(function* () {
      const known = (name: string) => (name === "both.example" ? { addresses: v4 } : ("absent" as const))
      const hosts = "192.0.2.9 both.example file.example\n"
      const { names, asked, orderFile } = yield* world(known, "", hosts, "passwd: files\nhosts: dns files # as ever\n")
      const [served, filed] = [
        { v4, v6: [] },
        { v4: ["192.0.2.9"], v6: [] }
      ]
      assert.deepStrictEqual(yield* find(names, "both.example"), served)
      assert.deepStrictEqual(yield* find(names, "file.example"), filed)
      assert.strictEqual(yield* find(names, "none.example"), "ENOTFOUND")
      writeFileSync(orderFile, "hosts:  files  mdns4_minimal [NOTFOUND=return] dns\n")
      assert.deepStrictEqual(yield* find(names, "both.example"), filed)
      writeFileSync(orderFile, "hosts: dns\n")
      assert.strictEqual(yield* find(names, "file.example"), "ENOTFOUND")
      writeFileSync(orderFile, "hosts: files myhostname\n")
      asked.length = 0
      assert.deepStrictEqual(yield* find(names, "file.example"), filed)
      assert.strictEqual(yield* find(names, "none.example"), "ENOTFOUND")
      assert.deepStrictEqual(asked, [])
    })
  )

  it.effect("is what the hosts file says when the name servers, though first, cannot say", () =>
    Effect.gen(function* () {
      const { names } = yield* world(
        () => "broken",
        "",
        "192.0.2.9 a.example\n",
        "hosts: dns [NOTFOUND=return] files\n"
      )
      assert.deepStrictEqual(yield* find(names, "a.example"), { v4: ["192.0.2.9"], v6: [] })
      assert.strictEqual(yield* find(names, "b.example"), "ESERVFAIL")
    })
  )

  it.effect("below localhost is this machine, whatever a name server would say, unless the hosts file knows it", () =>
    Effect.gen(function* () {
      const { names, asked } = yield* world(() => ({ addresses: v4 }), "search a.example\n", "127.0.0.2 b.localhost\n")
      const here = { v4: ["127.0.0.1"], v6: ["::1"] }
      assert.deepStrictEqual(yield* find(names, "app.localhost"), here)
      assert.deepStrictEqual(yield* find(names, "a.b.LocalHost."), here)
      assert.deepStrictEqual(yield* find(names, "b.localhost"), { v4: ["127.0.0.2"], v6: [] })
      assert.deepStrictEqual(asked, [])
      assert.deepStrictEqual(yield* find(names, "notlocalhost"), { v4, v6: [] })
    })
  )

  it.effect("that everybody knows is not asked for", () =>
    Effect.gen(function* () {
      const { names, asked } = yield* world(() => "absent")
      assert.deepStrictEqual(yield* find(names, "localhost"), { v4: ["127.0.0.1"], v6: ["::1"] })
      assert.deepStrictEqual(yield* find(names, "LOCALHOST.", "v4"), { v4: ["127.0.0.1"], v6: [] })
      assert.strictEqual(yield* find(names, "nowhere.invalid"), "ENOTFOUND")
      assert.deepStrictEqual(asked, [])
    })
  )

  it.effect("is followed in the background, and no longer than somebody wants it", () =>
    Effect.gen(function* () {
      let addresses = ["192.0.2.1"]
      const { names, asked } = yield* world(() => ({ addresses, ttl: 20 }))
      yield* find(names, "a.example", "v4")
      const told: Array<ReadonlyArray<string>> = []
      const stop = names.follow("a.example", "v4", (all) => told.push([...all]))
      addresses = ["192.0.2.2"]
      yield* TestClock.adjust("20 seconds")
      yield* Effect.promise(() => eventually(() => told.length === 2))
      assert.deepStrictEqual(told, [["192.0.2.1"], ["192.0.2.2"]])
      stop()
      yield* TestClock.adjust("1 hour")
      assert.strictEqual(asked.length, 2)
    })
  )
})
