import { readFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import { parse } from "yaml"
import { canonicalHostnames, HostnameIndex } from "./hostnames.ts"
import { compileListeners } from "./listeners.ts"
import { compileTcpRoutes } from "./tcp.ts"

const cases: ReadonlyArray<{
  readonly title: string
  readonly hostnames: ReadonlyArray<string>
  readonly expect: Readonly<Record<string, string | null>>
}> = parse(readFileSync(join(import.meta.dirname, "cases", "listeners.yaml"), "utf8"))

const listeners = (...hostnames: ReadonlyArray<string>) =>
  Result.getOrThrow(compileListeners(hostnames.map((hostname) => ({ hostname, value: hostname }))))

describe("listeners", () => {
  for (const { title, hostnames, expect } of cases)
    it(title, () => {
      for (const order of [hostnames, hostnames.toReversed()])
        for (const [host, expected] of Object.entries(expect))
          assert.strictEqual(listeners(...order).forHost(host) ?? null, expected, host)
    })

  it("of two with one hostname the earlier one counts", () => {
    const compiled = Result.getOrThrow(
      compileListeners([
        { hostname: "a.b", value: 1 },
        { hostname: "A.B", value: 2 }
      ])
    )
    assert.strictEqual(compiled.forHost("a.b"), 1)
  })

  it("are chosen for a TLS connection by its server name, whatever its case", () => {
    const compiled = listeners("*.b.c", "*")
    assert.strictEqual(compiled.forServerName("X.B.C"), "*.b.c")
    assert.strictEqual(compiled.forServerName(undefined), "*")
    assert.isUndefined(listeners("*.b.c").forServerName(undefined))
  })

  it("tell a request for another listener from one for none", () => {
    const compiled = listeners("*.b.c", "a.b.c")
    assert.isUndefined(compiled.mismatch("*.b.c", "x.b.c"))
    assert.strictEqual(compiled.mismatch("*.b.c", "a.b.c"), "misdirected")
    assert.strictEqual(compiled.mismatch("a.b.c", "x.b.c"), "misdirected")
    assert.strictEqual(compiled.mismatch("*.b.c", "other"), "unknown")
  })

  it("refuse a hostname that is none", () => {
    const compiled = compileListeners(["ok", "a b", "x:80", "a*"].map((hostname) => ({ hostname, value: 0 })))
    assert.deepStrictEqual(
      Result.isFailure(compiled) && compiled.failure.map((problem) => problem.path),
      [1, 2, 3].map((index) => [index, "hostname"])
    )
  })
})

describe("hostname index", () => {
  it("links every hostname to the next wider one", () => {
    const names = ["a.b.c", "*.b.c", "*.c", "*b.c", "*", "", "x.d"]
    const index = new HostnameIndex(new Map(names.map((name) => [name, name])))
    const chain = (host: string) => {
      const passed: Array<string> = []
      for (let entry = index.find(host); entry !== undefined; entry = entry.wider) passed.push(entry.hostname)
      return passed
    }
    assert.deepStrictEqual(chain("a.b.c"), ["a.b.c", "*.b.c", "*b.c", "*.c", "*", ""])
    assert.deepStrictEqual(chain("b.c"), ["*b.c", "*.c", "*", ""])
    assert.deepStrictEqual(chain("x.d"), ["x.d", "*", ""])
    assert.deepStrictEqual(chain("e"), ["*", ""])
  })

  it("takes no hostname, an empty one and a plain wildcard of a route for any host", () => {
    for (const hostnames of [undefined, [], [""], ["*"], ["*", ""]])
      assert.deepStrictEqual([...Result.getOrThrow(canonicalHostnames(hostnames))], [""])
  })
})

describe("TCP routes", () => {
  const routes = Result.getOrThrow(
    compileTcpRoutes([
      { key: "b", value: "any b" },
      { key: "a", hostnames: ["*"], value: "any a" },
      { key: "d", hostnames: ["db.example.com"], value: "exact d" },
      { key: "c", hostnames: ["DB.example.com", "*.example.com"], value: "c" }
    ])
  )

  it("are chosen by the most specific hostname, then by key", () => {
    assert.strictEqual(routes.find("db.example.com"), "c")
    assert.strictEqual(routes.find("X.EXAMPLE.com"), "c")
    assert.strictEqual(routes.find("example.com"), "any a")
  })

  it("without a server name are those without hostnames", () => {
    assert.strictEqual(routes.find(undefined), "any a")
    const named = compileTcpRoutes([{ key: "a", hostnames: ["a", "*.b"], value: 1 }])
    assert.isUndefined(Result.getOrThrow(named).find(undefined))
  })

  it("refuse a hostname that is none", () => {
    const compiled = compileTcpRoutes([{ key: "a", hostnames: ["a", "b:1"], value: 1 }])
    assert.deepStrictEqual(Result.isFailure(compiled) && compiled.failure.map((problem) => problem.path), [
      [0, "hostnames", 1]
    ])
  })
})
