/** What a client pipelines behind a request cannot end the process, whatever was answered and whatever is asked next. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { edge, text } from "./edge.ts"
import { eventually, RawClient } from "./raw-client.ts"

const get = "GET / HTTP/1.1\r\nhost: a\r\n\r\n"
const upgrade = "GET /x HTTP/1.1\r\nhost: a\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n"

const answered: ReadonlyArray<readonly [name: string, bytes: string, status: number]> = [
  ["an answer", get, 200],
  ["an answer without a body", "HEAD / HTTP/1.1\r\nhost: a\r\n\r\n", 200],
  ["a refused expectation", "GET / HTTP/1.1\r\nhost: a\r\nexpect: x\r\n\r\n", 417],
  ["an answer to HTTP/1.0", "GET / HTTP/1.0\r\nhost: a\r\nconnection: keep-alive\r\n\r\n", 200],
  ["three answers", get + get + get, 200],
  ["a malformed head", "GET / HTTP/1.1\r\nhost: a\r\nhost: b\r\n\r\n", 400]
]

describe("pipelines", () => {
  it.live.each(answered)("an upgrade in the same packet as %s", ([, bytes, status]) =>
    Effect.gen(function* () {
      const { port, bound, defects } = yield* edge(() => Effect.succeed(text(200, "yes")))
      const client = new RawClient(port).send(bytes + upgrade)
      const all = yield* Effect.promise(() => client.toEnd())
      const statuses = Array.from(all.matchAll(/HTTP\/1\.1 (\d+)/g), ([, status]) => Number(status))
      assert.deepStrictEqual(statuses, new Array(bytes.split(get).length > 3 ? 3 : 1).fill(status))
      yield* Effect.promise(() => eventually(() => bound.connections() === 0))
      assert.deepStrictEqual(defects, [])
    })
  )
})
