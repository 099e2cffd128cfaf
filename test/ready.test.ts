/** `headgatectl proxy ready`, against a readiness check that says what a proxy says in each of its times. */
import { once } from "node:events"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { afterEach, assert, beforeEach, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { nowhere } from "./origin.ts"
import { ctl } from "./tool.ts"

describe("headgatectl proxy ready", () => {
  let says: readonly [status: number, text: string]
  const asked: Array<string> = []
  const server = createServer((request, response) => {
    asked.push(`${request.method} ${request.url}`)
    response.writeHead(says[0]).end(says[1])
  })
  beforeEach(async () => {
    server.listen(0, "127.0.0.1")
    await once(server, "listening")
    asked.length = 0
  })
  afterEach(() => {
    server.close()
    server.closeAllConnections()
  })
  const port = () => String((server.address() as AddressInfo).port)

  it.effect("says so and exits with 0 once everything listens", () =>
    Effect.gen(function* () {
      says = [200, "ready\n"]
      const { code, out, err } = yield* ctl("proxy", "ready", "--readiness-port", port())
      assert.deepStrictEqual({ code, out, err }, { code: 0, out: ["ready"], err: [] })
      assert.deepStrictEqual(asked, ["GET /healthz/ready"])
    })
  )

  it.effect.each([
    [500, "not ready, pending: default"],
    [503, "not ready, draining"]
  ] as const)("exits with 1 before and after: %s", ([status, text]) =>
    Effect.gen(function* () {
      says = [status, `${text}\n`]
      const { code, out, err } = yield* ctl("proxy", "ready", "--readiness-port", port())
      assert.deepStrictEqual({ code, out, err }, { code: 1, out: [], err: [text] })
    })
  )

  it.effect("exits with 1 when nobody is there, and says who", () =>
    Effect.gen(function* () {
      const { code, err } = yield* ctl("proxy", "ready", "--readiness-port", String(yield* nowhere))
      assert.strictEqual(code, 1)
      assert.match(err.join("\n"), /^cannot reach the readiness check at 127\.0\.0\.1:\d+: connect ECONNREFUSED/)
    })
  )
})
