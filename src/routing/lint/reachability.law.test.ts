/** A route that is said never to match is never chosen, whatever the other routes are. */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { stringify } from "yaml"
import { type Choices, choices } from "../../../spec/generate/samples.ts"
import { schemas } from "../../../stages/schemas.ts"
import { HeaderList } from "../../http/header-list.ts"
import { RequestHead } from "../../http/message.ts"
import { reader } from "../read.ts"
import { compileRoutes } from "../table.ts"
import { shadowed } from "./reachability.ts"

const read = reader(schemas)
const some = <A>(choose: Choices, from: ReadonlyArray<A>): ReadonlyArray<A> => from.filter(() => choose.chance(0.4))

const paths = [{ pathPrefix: "/" }, { pathPrefix: "/a" }, { pathPrefix: "/a/" }, { exact: "/a" }, { regex: "/a.*" }]
const conditions = ["x", "X", "y"].map((name) => ({ name, value: { exact: "1" } }))

const matchOf = (choose: Choices) => ({
  path: choose.pick(paths),
  ...(choose.chance(0.3) ? { method: choose.pick(["GET", "POST"]) } : {}),
  headers: choose.chance(0.5) ? [] : some(choose, conditions).slice(0, 2),
  query: choose.chance(0.7) ? [] : some(choose, conditions).slice(0, 1)
})

const routeOf = (choose: Choices, index: number) => ({
  name: `${choose.pick(["a", "b", "c"])}${index}`,
  hostnames: some(choose, ["h", "H", "*.h", "*"]),
  matches: Array.from({ length: choose.chance(0.8) ? 1 : 2 }, () => matchOf(choose)),
  policies: { directResponse: { status: 200 } }
})

/** Requests that differ in all that the routes look at. */
const requests = ["h", "g.h", "k"].flatMap((host) =>
  ["GET", "POST", "PUT"].flatMap((method) =>
    ["/", "/a", "/a/b", "/ab"].flatMap((path) =>
      [0, 1, 2, 3].flatMap((given) =>
        ["", "?x=1", "?X=1", "?y=1"].map((query) => {
          const headers = ["x", "y"].filter((_, bit) => (given & (1 << bit)) !== 0).map((name) => [name, "1"] as const)
          return new RequestHead(method, "http", host, `${path}${query}`, HeaderList.from(headers))
        })
      )
    )
  )
)

it("a route that is said never to match is never chosen", () => {
  const seen = { told: 0, chosen: 0 }
  for (let seed = 1; seed <= 300; seed++) {
    const choose = choices(seed * 32_452_843)
    const routes = Array.from({ length: 3 + choose.below(6) }, (_, index) => routeOf(choose, index))
    const text = stringify({ gateways: { default: { port: 80 } }, routes })
    const result = read({ name: "f", text, env: {} })
    if (!result.ok) return assert.fail(text)
    const { normalised } = result.value
    const found = normalised.binds[0]!.listeners[0]!.routes
    const told = new Set(shadowed(normalised).map(({ path }) => (path as ReadonlyArray<string | number>).join(".")))
    const isTold = (path: string, matches: number) =>
      told.has(path) || Array.from({ length: matches }, (_, at) => told.has(`${path}.matches.${at}`)).every(Boolean)
    const never = new Set(
      found.filter(({ path, matches }) => isTold(path.join("."), matches.length)).map(({ path }) => path.join("."))
    )
    const table = Effect.runSync(compileRoutes(found.map((route) => ({ ...route, value: route.path.join(".") }))))
    seen.told += never.size
    for (const request of requests) {
      const chosen = table.find(request)?.value
      if (chosen === undefined) continue
      seen.chosen++
      assert.isFalse(never.has(chosen), `${chosen} takes ${request.method} ${request.path} in\n${text}`)
    }
  }
  assert.isAbove(seen.told, 50, JSON.stringify(seen))
  assert.isAbove(seen.chosen, 10_000, JSON.stringify(seen))
})
