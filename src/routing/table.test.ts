import { readFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Result } from "effect"
import { parse } from "yaml"
import { HeaderList } from "../http/header-list.ts"
import { RequestHead, type Scheme } from "../http/message.ts"
import type { ConfigProblem } from "../pipeline/stage.ts"
import type { RouteMatch } from "./match.ts"
import { compileRoutes, type RouteEntry } from "./table.ts"

interface Routes {
  readonly title: string
  readonly routes: ReadonlyArray<{
    readonly key: string
    readonly hostnames?: ReadonlyArray<string>
    readonly matches?: ReadonlyArray<RouteMatch>
  }>
}
interface Selecting extends Routes {
  readonly requests: ReadonlyArray<{
    readonly request: string
    readonly expect: string | null
    readonly prefix?: string | null
  }>
}
interface Failing extends Routes {
  readonly problems: ReadonlyArray<ConfigProblem>
}

const cases = <A>(file: string): ReadonlyArray<A> =>
  parse(readFileSync(join(import.meta.dirname, "cases", file), "utf8"))

/** From `GET http://host/path?query name: value; name: value`. */
const request = (text: string): RequestHead => {
  const [, method, scheme, authority, target, headers = ""] = /^(\S+) (https?):\/\/([^/?*\s]+)(\S*)(?: (.*))?$/.exec(
    text
  )!
  const lines = headers === "" ? [] : headers.split("; ").map((line) => line.split(": ") as [string, string])
  const head = new RequestHead(method!, scheme as Scheme, authority!, "/", HeaderList.from(lines))
  assert.isUndefined(head.moveTo(target!), text)
  return head
}

const table = (routes: Routes["routes"]) =>
  Effect.runSync(compileRoutes<string>(routes.map((route) => ({ ...route, value: route.key }))))

describe("route table", () => {
  describe("selects", () => {
    for (const { title, routes, requests } of cases<Selecting>("routes.yaml"))
      it(title, () => {
        // Whatever the order in which they are configured.
        for (const compiled of [table(routes), table(routes.toReversed())])
          for (const { request: text, expect, prefix } of requests) {
            const found = compiled.find(request(text))
            assert.strictEqual(found?.value ?? null, expect, text)
            if (prefix !== undefined) assert.strictEqual(found?.prefix ?? null, prefix, text)
          }
      })
  })

  describe("refuses", () => {
    for (const { title, routes, problems } of cases<Failing>("problems.yaml"))
      it(title, () => {
        const compiled = Effect.runSync(Effect.result(compileRoutes(routes.map((route) => ({ ...route, value: 0 })))))
        assert.deepStrictEqual(Result.isFailure(compiled) ? compiled.failure : [], problems)
      })
  })

  it("lists the keys of all routes whose hostname fits, whether their rules match or not", () => {
    const compiled = table([
      { key: "z" },
      { key: "never", matches: [] },
      { key: "b", hostnames: ["a.b.c", "*.c"], matches: [{ path: { exact: "/x" } }] },
      { key: "other", hostnames: ["*.d"] },
      { key: "a", hostnames: ["*.b.c"] }
    ])
    assert.deepStrictEqual(compiled.candidates(request("GET http://a.b.c/")), ["a", "b", "never", "z"])
    assert.deepStrictEqual(compiled.candidates(request("GET http://x.c/")), ["b", "never", "z"])
    assert.deepStrictEqual(compiled.candidates(request("GET http://x/")), ["never", "z"])
  })

  it("parses the query only when everything else of a match holds", () => {
    let parsed = 0
    class Watched extends RequestHead {
      override get query(): string {
        parsed++
        return super.query
      }
    }
    const compiled = table([
      { key: "post", matches: [{ method: "POST", query: [{ name: "a", value: { exact: "1" } }] }] },
      { key: "path", matches: [{ path: { regex: "/x.*" }, query: [{ name: "a", value: { exact: "1" } }] }] },
      { key: "also", matches: [{ path: { regex: "/xy.*" }, query: [{ name: "a", value: { exact: "2" } }] }] },
      { key: "rest" }
    ])
    const watched = (path: string) => new Watched("GET", "http", "h", path, new HeaderList())
    assert.strictEqual(compiled.find(watched("/y?a=1"))?.value, "rest")
    assert.strictEqual(parsed, 0)
    assert.strictEqual(compiled.find(watched("/xyz?a=3"))?.value, "rest")
    assert.strictEqual(parsed, 1)
  })

  it("tries no more matches among 10,000 routes than among 10", () => {
    const routes = (count: number): ReadonlyArray<RouteEntry<number>> =>
      Array.from({ length: count }, (_, n) => ({
        key: `r${n}`,
        hostnames: n % 3 === 0 ? [`h${n % 30}.example.com`] : n % 3 === 1 ? ["*.example.com"] : [],
        matches: [
          n % 4 === 0
            ? { path: { exact: `/s${n}/exact` } }
            : n % 4 === 1
              ? { path: { regex: `^/s${n}/[0-9]+$` } }
              : { path: { pathPrefix: `/s${n}/p` }, method: "GET" }
        ],
        value: n
      }))
    const few = Effect.runSync(compileRoutes(routes(10)))
    const many = Effect.runSync(compileRoutes(routes(10_000)))
    const matched = new Set<number | undefined>()
    for (const host of [
      "h0.example.com",
      "h3.example.com",
      "h6.example.com",
      "h9.example.com",
      "other.example.com",
      "elsewhere"
    ])
      for (const path of [..."0123456789"].flatMap((n) => [`/s${n}/exact`, `/s${n}/42`, `/s${n}/p/q`, `/s${n}`])) {
        const head = new RequestHead("GET", "http", host, path, new HeaderList())
        const found = few.find(head)
        assert.strictEqual(many.find(head)?.value, found?.value)
        assert.strictEqual(many.visited, few.visited)
        assert.isAtMost(many.visited, 2)
        matched.add(found?.value)
      }
    assert.strictEqual(matched.size, 11)
  })

  it("spends on a hostile path or host no more than its length", () => {
    const compiled = table([{ key: "r", hostnames: ["*.example.com"], matches: [{ path: { pathPrefix: "/a/a/a" } }] }])
    assert.strictEqual(compiled.find(request(`GET http://x.example.com${"/a".repeat(8000)}`))?.value, "r")
    assert.strictEqual(compiled.visited, 1)
    assert.isUndefined(compiled.find(request(`GET http://${"a.".repeat(8000)}com/a/a/a`)))
    assert.strictEqual(compiled.visited, 0)
  })
})
