/** What the suite of spelled paths leaves out: that it would find something, raw paths, and a process with sockets. */
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { open } from "../../src/main/library.ts"
import { whole } from "../../src/main/testing/whole.ts"
import { RawClient } from "../http/raw-client.ts"
import { configuration, finders, get, ordinary, spellings, trySpellings } from "./spellings.ts"

describe("spellings of paths", () => {
  it.effect("without the normal form some of them do", () =>
    Effect.gen(function* () {
      const { breaches } = yield* trySpellings(2_000, 1, "raw")
      assert.isAtLeast(breaches.length, 100)
    })
  )

  it.effect("where paths are raw they are matched and forwarded as they came", () =>
    Effect.gen(function* () {
      const { send } = yield* whole(configuration(80, "backend.example:80", "raw"))
      for (const path of ["/files//a/../b%2f..%2Fc;d/%zz\\%7e", "/files/%70rivate/a"])
        assert.strictEqual((yield* send(get(path))).received?.path, path)
      assert.strictEqual((yield* send(get("/files/private/a"))).status, 401)
      // What a rewrite makes is in the normal form all the same.
      assert.strictEqual((yield* send(get("/rewritten//host/%7e"))).received?.path, "/public/tree/host/~")
      assert.strictEqual((yield* send(get("/rewritten/%zz"))).status, 400)
    })
  )

  it("a process with sockets forwards the same to a backend that decodes", async () => {
    const asked: Array<string> = []
    const backend = createServer((request, response) => {
      asked.push(request.url!)
      response.end()
    }).listen(0, "127.0.0.1")
    await new Promise((resolve) => backend.once("listening", resolve))
    const address = `127.0.0.1:${(backend.address() as AddressInfo).port}`
    const gate = await open(configuration(80, address), {
      host: "127.0.0.1",
      ephemeral: true,
      env: { ADMIN_ADDR: "off", STATS_ADDR: "off", READINESS_ADDR: "off" }
    })
    try {
      const exchange = async (path: string): Promise<number> => {
        const client = new RawClient(gate.port(80)!)
        client.send(`GET ${path} HTTP/1.1\r\nhost: h\r\nconnection: close\r\n\r\n`)
        return Number((await client.toEnd()).split(" ", 2)[1])
      }
      const draw = spellings(7)
      for (let i = 0; i < 400; i++) {
        const path = draw()
        const before = asked.length
        await exchange(path)
        for (const forwarded of asked.slice(before)) assert.deepStrictEqual(finders(forwarded), [], path)
      }
      assert.isAtLeast(asked.length, 50)
      for (const [path, expected] of Object.entries(ordinary)) {
        assert.strictEqual(await exchange(path), 200, path)
        assert.strictEqual(asked.at(-1), expected)
      }
    } finally {
      await gate.close()
      backend.close()
    }
  }, 60_000)
})
