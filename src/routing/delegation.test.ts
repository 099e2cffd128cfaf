import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { HeaderList } from "../http/header-list.ts"
import { RequestHead } from "../http/message.ts"
import { type Choice, delegate } from "./delegation.ts"
import type { RouteMatch } from "./match.ts"
import { compileRoutes } from "./table.ts"

interface Route {
  readonly key: string
  readonly matches?: ReadonlyArray<RouteMatch>
  readonly to?: Choice<string>
}

const group = (name: string): Choice<string> => ({ _tag: "Group", name })
const backend = (name: string): Choice<string> => ({ _tag: "Backend", backend: name })
const under = (pathPrefix: string): Pick<Route, "matches"> => ({ matches: [{ path: { pathPrefix } }] })

const table = (routes: ReadonlyArray<Route>) =>
  Effect.runSync(compileRoutes(routes.map((route) => ({ ...route, value: route }))))

const follow = (path: string, routes: ReadonlyArray<Route>, groups: Readonly<Record<string, ReadonlyArray<Route>>>) => {
  const asked: Array<string> = []
  const result = delegate(
    new RequestHead("GET", "http", "h", path, new HeaderList()),
    table(routes),
    new Map(Object.entries(groups).map(([name, members]) => [name, table(members)])),
    (route: Route) => {
      asked.push(route.key)
      return route.to
    }
  )
  return {
    asked,
    result:
      result._tag === "Reached"
        ? { ...result, chain: result.chain.map((route) => route.key) }
        : result._tag === "Cycle"
          ? { ...result, route: result.route.key }
          : result
  }
}

describe("delegation", () => {
  it("is over at once for a route with a backend", () => {
    const { result, asked } = follow("/a/b", [{ key: "a", ...under("/a"), to: backend("x") }], {})
    assert.deepStrictEqual(result, { _tag: "Reached", chain: ["a"], prefix: "/a", backend: "x" })
    assert.deepStrictEqual(asked, ["a"])
  })

  it("matches the whole path again in each group, and keeps the chain, the parent first", () => {
    const { result, asked } = follow("/team/app/x", [{ key: "root", ...under("/team"), to: group("team") }], {
      team: [
        { key: "stripped", ...under("/app"), to: backend("wrong") },
        { key: "app", ...under("/team/app"), to: group("app") }
      ],
      app: [
        { key: "leaf", matches: [{ path: { regex: "/team/app/[xy]" } }], to: backend("right") },
        { key: "rest", to: backend("rest") }
      ]
    })
    assert.deepStrictEqual(result, {
      _tag: "Reached",
      chain: ["root", "app", "leaf"],
      prefix: undefined,
      backend: "right"
    })
    assert.deepStrictEqual(asked, ["root", "app", "leaf"])
  })

  it("stops at a route that is reached again", () => {
    const { result, asked } = follow("/", [{ key: "root", to: group("one") }], {
      one: [{ key: "first", to: group("two") }],
      two: [{ key: "second", to: group("one") }]
    })
    assert.deepStrictEqual(result, { _tag: "Cycle", route: "first" })
    assert.deepStrictEqual(asked, ["root", "first", "second"])
  })

  it("may pass a group twice through different routes", () => {
    const { result } = follow("/a", [{ key: "root", to: group("one") }], {
      one: [
        { key: "exact", matches: [{ path: { exact: "/a" } }], to: group("two") },
        { key: "other", to: backend("x") }
      ],
      two: [{ key: "leaf", to: backend("y") }]
    })
    assert.deepStrictEqual(result, { _tag: "Reached", chain: ["root", "exact", "leaf"], prefix: "", backend: "y" })
  })

  it("finds nothing where nothing matches, at the top, in a group, or in a group that is missing", () => {
    const unmatched = { _tag: "Unmatched" }
    assert.deepStrictEqual(follow("/b", [{ key: "a", ...under("/a") }], {}).result, unmatched)
    assert.deepStrictEqual(
      follow("/a", [{ key: "a", to: group("g") }], { g: [{ key: "b", ...under("/b") }] }).result,
      unmatched
    )
    assert.deepStrictEqual(follow("/a", [{ key: "a", to: group("missing") }], {}).result, unmatched)
  })

  it("reaches a route without backends", () => {
    assert.deepStrictEqual(follow("/", [{ key: "a" }], {}).result, {
      _tag: "Reached",
      chain: ["a"],
      prefix: "",
      backend: undefined
    })
  })
})
