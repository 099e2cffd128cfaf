/**
 * Transformations of hostile values, over sockets: whatever a client gets into an expression, a backend reads one request, and a
 * client one answer, in which nothing stands that the expression did not name.
 */
import { assert, describe, it } from "@effect/vitest"
import { Arbitrary, Effect, Schema } from "effect"
import { start } from "../src/main/library.ts"
import { oneOf } from "../src/main/testing/arbitraries.ts"
import { send } from "./client.ts"
import { type OriginRequest, origin } from "./origin.ts"

const pieces = [
  "\r\n",
  "\n",
  "\r",
  "\0",
  " HTTP/1.1\r\nx-smuggled: 1\r\n\r\n",
  "x-smuggled: 1",
  "/",
  "//",
  "/..",
  "%2e%2e",
  "%00",
  "%0d%0a",
  "\\",
  "?",
  "#",
  ";",
  "@",
  ":",
  " ",
  "\t",
  "é",
  "日",
  "\u{1f388}",
  "\ud800",
  "\x7f",
  "\x85",
  "0",
  "5",
  "101",
  "200",
  "CONNECT",
  "GET",
  "chunked",
  "a.example"
] as const

const hostile = Arbitrary.map(
  Arbitrary.array(
    Arbitrary.flatMap(oneOf(true, true, false), (known) =>
      known ? oneOf<string>(...pieces) : Arbitrary.schema(Schema.String)
    ),
    { maxLength: 5 }
  ),
  (parts) => parts.join("")
)

const places = ["header", "path", "query", "method", "authority", "name", "status", "answer", "all"] as const

const configuration = (backend: string) => `
gateways: { default: { port: 8080 } }
routes:
- matches: [{ method: POST }]
  policies:
    transformations:
      request:
        metadata: { said: json(request.body), place: json(request.body).place, value: json(request.body).value }
        replace: 'metadata.place == "name" ? {"x-whole": "1", metadata.value: metadata.value} : fail("stays")'
        set:
          x-said: 'metadata.place in ["header", "all"] ? metadata.value : "none"'
          ":path": 'metadata.place in ["path", "all"] ? "/p" + metadata.value : metadata.place == "query" ? "/p?q=" + metadata.value : "/p"'
          ":method": 'metadata.place in ["method", "all"] ? metadata.value : "PUT"'
          ":authority": 'metadata.place in ["authority", "all"] ? metadata.value : "kept.example"'
      response:
        set:
          ":status": 'metadata.place in ["status", "all"] ? metadata.value : "203"'
          x-told: 'metadata.place in ["answer", "all"] ? metadata.value : "none"'
        body: metadata.value
  backends: [{ host: "${backend}" }]
`

const token = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/
const latin1 = /^[\t\x20-\x7e\x80-\xff]*$/

/** True, or what an assertion says. */
const examined = (look: () => Promise<void>): Effect.Effect<boolean, string> =>
  Effect.as(Effect.tryPromise({ try: look, catch: String }), true)

describe("values of clients in transformations", () => {
  it.live("make one request and one answer, and nothing beside what was named", () =>
    Effect.gen(function* () {
      const seen: Array<OriginRequest> = []
      const backend = yield* origin((request) => {
        seen.push(request)
        return { status: 200, body: "said" }
      })
      const gateway = yield* start(configuration(backend.address), {
        ephemeral: true,
        host: "127.0.0.1",
        log: () => {}
      })
      const port = gateway.port(8080)!
      let came = 0
      const check = Arbitrary.checkEffect(
        Arbitrary.all({ place: oneOf(...places), value: hostile }),
        ({ place, value }) =>
          examined(async () => {
            seen.length = 0
            const body = JSON.stringify({ place, value })
            const answer = await send(port, {
              method: "POST",
              headers: { "x-said": "forged", "x-told": "forged" },
              body
            })
            const [request, ...more] = seen
            assert.isEmpty(more)
            assert.notProperty(answer.headers, "x-smuggled")
            // A method that it does not know the backend refuses by itself, before it tells of a request.
            if (request === undefined) return
            came++
            const { method, path, headers } = request
            assert.notProperty(headers, "x-smuggled")
            assert.match(method, token)
            assert.notStrictEqual(method, "CONNECT")
            assert.match(path, /^\/[\x21\x22\x24-\x7e]*$/)
            assert.notMatch(path.split("?")[0]!, /\/\.\.(?:\/|$)|^\/\//)
            assert.match(headers.host!, /^[a-z0-9_.:[\]-]+$/)
            const wanted = place === "header" || place === "all" ? value.replace(/^[ \t]+|[ \t]+$/g, "") : "none"
            if (place !== "name") assert.strictEqual(headers["x-said"], latin1.test(wanted) ? wanted : undefined)
            assert.isTrue(answer.status >= 200 && answer.status <= 599)
            const told = answer.headers["x-told"]
            if (place === "answer")
              assert.strictEqual(told, latin1.test(value) ? value.replace(/^[ \t]+|[ \t]+$/g, "") : undefined)
          }),
        { runs: 400, seed: 1 }
      )
      assert.isUndefined(Arbitrary.formatCheckFailure(yield* check))
      assert.isAbove(came, 300)
    })
  )
})
