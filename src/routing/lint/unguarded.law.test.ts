/** What is said of guards and forwarded paths holds for the engine, whatever the tables of paths are. */
import { assert, describe, it } from "@effect/vitest"
import { stringify } from "yaml"
import { type Choices, choices } from "../../../spec/generate/samples.ts"
import { schemas } from "../../../stages/schemas.ts"
import { guardedFormats } from "../../protocols/llm/guard/texts.ts"
import { compileRouteTypes, type RouteType, routerPaths } from "../../protocols/llm/models/route-type.ts"
import { reader } from "../read.ts"
import { conversations, unguarded } from "./unguarded.ts"

const read = reader(schemas)
const ends = [...Object.keys(conversations), "completions", "/messages", "/eu/v1/responses", "/v1/embeddings", "/", "*"]
const types: ReadonlyArray<RouteType> = ["completions", "messages", "embeddings", "detect", "passthrough"]
const places = ["/a", "/", "/a/v1/chat/completions", "/eu/v1/responses", "/a/v1/embeddings", "/a/x:generateContent"]

const tableOf = (choose: Choices): Readonly<Record<string, RouteType>> =>
  Object.fromEntries(ends.filter(() => choose.chance(0.3)).map((end) => [end, choose.pick(types)]))

/** The entries of a table that are told, for a guarded backend behind a match. */
const toldOf = (routes: Readonly<Record<string, RouteType>>, path: object): ReadonlyArray<string> => {
  const promptGuard = { request: [{ regex: { rules: [{ builtin: "email" }] } }] }
  const text = stringify({
    gateways: { default: { port: 80 } },
    routes: [
      {
        matches: [{ path }],
        policies: { ai: { promptGuard, routes } },
        backends: [{ ai: { name: "a", provider: { openAI: {} } } }]
      }
    ]
  })
  const result = read({ name: "f", text, env: {} })
  if (!result.ok) return assert.fail(text)
  return unguarded(result.value).map((complaint) => String(complaint.path.at(-1)))
}

describe("guards and forwarded paths", () => {
  it("are about the conversations that the engine knows", () => {
    const guarded = Object.entries(routerPaths).filter(([, type]) => guardedFormats.some((format) => format === type))
    assert.deepStrictEqual({ ...conversations }, Object.fromEntries(guarded))
  })

  it("are told of exactly where a conversation, or any path, gets past the guards", () => {
    const seen = { told: 0, quiet: 0 }
    for (let seed = 1; seed <= 1500; seed++) {
      const choose = choices(seed * 15_485_863)
      const routes = tableOf(choose)
      const place = choose.pick(places)
      const isPrefix = choose.chance(0.5)
      const told = toldOf(routes, isPrefix ? { pathPrefix: place } : { exact: place })

      const typeOf = compileRouteTypes(routes)
      const isForwarded = (path: string) => ["detect", "passthrough"].includes(typeOf(path))
      const isConversation = (path: string) => Object.keys(conversations).some((end) => path.endsWith(end))
      const below = [...Object.keys(conversations), ...ends.slice(0, -1)].map((end) => place + end)
      // A prefix that is a conversation itself is written for that one path.
      const asked = isPrefix && !isConversation(place) ? [...below.filter(isConversation), "/none"] : [place]
      const isPast = asked.some((path) => isForwarded(path) && (isConversation(path) || path === "/none"))

      const message = `${JSON.stringify({ routes, place, isPrefix })} told ${told}`
      if (isPrefix && isConversation(place)) assert.deepStrictEqual(told, [], message)
      else assert.strictEqual(told.length > 0, isPast, message)
      for (const end of told) assert.isTrue(isForwarded(end === "*" ? "/none" : `${place}${end}`) || !isPrefix, message)
      if (told.length > 0) seen.told++
      else seen.quiet++
    }
    assert.isAbove(seen.told, 300, JSON.stringify(seen))
    assert.isAbove(seen.quiet, 300, JSON.stringify(seen))
  })
})
