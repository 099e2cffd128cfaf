/**
 * Sessions of others: ids that were guessed, changed, ended, or shown by somebody else or elsewhere. After each attempt the
 * session still serves whoever began it.
 */
import { Effect, Schema } from "effect"
import * as Arbitrary from "effect/Arbitrary"
import { type Headgate, start } from "../../src/main/library.ts"
import { send } from "../client.ts"
import { type AttackCase, attack, type Trial } from "./attack.ts"
import { initialize, mcpHeaders, mcpOrigin } from "./mcp-origin.ts"

/** The doors: that of the session, another listener and another backend behind the same keys, and one without any. */
const doors = { own: 8080, listener: 8081, backend: 8082, open: 8083 } as const

interface Theft extends AttackCase {
  /** What is shown, from the id of somebody's session. */
  readonly show: (id: string) => string
  readonly as: "alice" | "bob" | "nobody"
  readonly door: keyof typeof doors
  readonly method: "POST" | "GET" | "DELETE"
  /** At another process with the same key, which knows of the session by its id alone. */
  readonly elsewhere?: true
}

const flipped = (id: string, at: number): string => {
  const index = ((at % id.length) + id.length) % id.length
  return `${id.slice(0, index)}${id[index] === "A" ? "B" : "A"}${id.slice(index + 1)}`
}

const forged = {
  t: "mcp",
  s: [{ t: "t", s: "stolen" }],
  targets: [["t", "stolen"]],
  owner: "me",
  version: "2025-11-25"
}

const forgeries: ReadonlyArray<readonly [what: string, show: Theft["show"]]> = [
  ["a UUID", () => "7f9c24e8-3b12-4fef-91e0-5f7a6a2e3c10"],
  ["nil UUID", () => "00000000-0000-0000-0000-000000000000"],
  ["one character", () => "a"],
  ["a number", () => "1"],
  ["undefined", () => "undefined"],
  ["__proto__", () => "__proto__"],
  ["constructor", () => "constructor"],
  ["a path", () => "../../session"],
  ["a list", (id) => `${id}, ${id}`],
  ["the id twice", (id) => `${id}${id}`],
  ["the id without its end", (id) => id.slice(0, -1)],
  ["the id without its beginning", (id) => id.slice(1)],
  ["half of the id", (id) => id.slice(0, id.length / 2)],
  ["the id with one more character", (id) => `${id}A`],
  ["the id with padding", (id) => `${id}====`],
  ["the id with its first character changed", (id) => flipped(id, 0)],
  ["the id with its nonce changed", (id) => flipped(id, 5)],
  ["the id with its middle changed", (id) => flipped(id, Math.floor(id.length / 2))],
  ["the id with its tag changed", (id) => flipped(id, -8)],
  ["the id in capitals", (id) => id.toUpperCase()],
  ["the id reversed", (id) => [...id].reverse().join("")],
  ["the id in quotes", (id) => `"${id}"`],
  ["the id percent-encoded", (id) => `%${id.charCodeAt(0).toString(16)}${id.slice(1)}`],
  ["a state in the clear", () => Buffer.from(JSON.stringify(forged)).toString("base64url")],
  ["a state in the clear, padded", () => Buffer.from(JSON.stringify(forged)).toString("base64")],
  ["zeros as long as the id", (id) => "A".repeat(id.length)],
  ["eight thousand characters", () => "A".repeat(8_000)]
]

const thefts: ReadonlyArray<Theft> = [
  ...forgeries.map(([what, show]): Theft => ({ title: what, show, as: "alice", door: "own", method: "POST" })),
  ...(["POST", "GET", "DELETE"] as const).flatMap(
    (method): ReadonlyArray<Theft> => [
      { title: `${method} of another principal`, show: (id) => id, as: "bob", door: "own", method },
      { title: `${method} without a principal`, show: (id) => id, as: "nobody", door: "open", method },
      { title: `${method} through another listener`, show: (id) => id, as: "alice", door: "listener", method },
      { title: `${method} at another backend`, show: (id) => id, as: "alice", door: "backend", method }
    ]
  ),
  ...(
    [
      ["another principal", "bob", "own"],
      ["no principal", "nobody", "open"],
      ["another listener", "alice", "listener"],
      ["another backend", "alice", "backend"]
    ] as const
  ).map(
    ([what, as, door]): Theft => ({
      title: `${what}, at another process with the same key`,
      show: (id) => id,
      as,
      door,
      method: "POST",
      elsewhere: true
    })
  )
]

const configuration = (port: number): string => {
  const mcp = (name: string) => `mcp: { targets: [{ name: ${name}, mcp: { host: "http://127.0.0.1:${port}/mcp" } }] }`
  const keys = "apiKey: { mode: strict, keys: [{ key: alice-key }, { key: bob-key }] }"
  return `
gateways: { ${Object.entries(doors)
    .map(([name, at]) => `${name}: { port: ${at} }`)
    .join(", ")} }
backends: [{ name: shared, ${mcp("t")} }, { name: other, ${mcp("u")} }]
routes:
- { name: own, gateways: [own, listener], policies: { ${keys} }, backends: [{ backend: /shared }] }
- { name: other, gateways: [backend], policies: { ${keys} }, backends: [{ backend: /other }] }
- { name: open, gateways: [open], backends: [{ backend: /shared }] }
`
}

const open = Effect.gen(function* () {
  const text = configuration(yield* mcpOrigin)
  const started = start(text, { ephemeral: true, host: "127.0.0.1", env: { SESSION_KEY: "5e".repeat(32) } })
  const own = yield* started
  const other = yield* started
  const ask = (
    { port }: Headgate,
    door: Theft["door"],
    as: Theft["as"],
    session: string | undefined,
    method: Theft["method"],
    message?: object
  ) =>
    send(port(doors[door])!, {
      method,
      path: "/mcp",
      headers: {
        ...mcpHeaders,
        ...(as === "nobody" ? {} : { authorization: `Bearer ${as}-key` }),
        ...(session === undefined ? {} : { "mcp-session-id": session })
      },
      body: message === undefined ? undefined : JSON.stringify(message)
    })
  const call = { jsonrpc: "2.0", id: 2, method: "tools/call", params: { name: "real", arguments: {} } }
  const begin = Effect.map(
    Effect.promise(() => ask(own, "own", "alice", undefined, "POST", initialize)),
    ({ headers }) => String(headers["mcp-session-id"])
  )
  const id = yield* begin
  // Ids do bring sessions back at the other process, if not those of others.
  const carried = yield* begin
  const { body: brought } = yield* Effect.promise(() => ask(other, "own", "alice", carried, "POST", call))
  if (!brought.includes("done")) return yield* Effect.fail(new Error(`the session did not come along: ${brought}`))
  const trial: Trial<Theft> = ({ show, as, door, method, elsewhere }) =>
    Effect.promise(async () => {
      const shown = show(id)
      const at = elsewhere === true ? other : own
      const { status, body } = await ask(at, door, as, shown, method, method === "POST" ? call : undefined)
      // Whether a session of that id is somewhere is nobody's business: its end is confirmed all the same.
      const expected = method === "DELETE" ? [202] : [400, 404]
      if (!expected.includes(status) || body.includes("done")) throw new Error(`answered ${status} ${body}`)
      const still = await ask(own, "own", "alice", id, "POST", call)
      if (still.status !== 200 || !still.body.includes("done"))
        throw new Error(`the session is gone: ${still.status} ${still.body}`)
    })
  return trial
})

export const mcpSessions = attack<Theft>({
  class: "sessions and ids",
  name: "MCP session ids",
  proves: "a session serves the principal, the listener and the backend that it was begun with, and no other id",
  cases: thefts,
  generated: {
    cases: Arbitrary.map(
      Arbitrary.array(Arbitrary.schema(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 199 }))), {
        minLength: 1,
        maxLength: 6
      }),
      (at): Theft => {
        const places = [...new Set(at)]
        return {
          title: `the id with characters changed at ${places}`,
          show: (id) => places.reduce(flipped, id),
          as: "alice",
          door: "own",
          method: "POST"
        }
      }
    ),
    few: 20,
    many: 2_000
  },
  open
})
