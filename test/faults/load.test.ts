import { writeFileSync } from "node:fs"
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { send } from "../client.ts"
import { freePort } from "../free-ports.ts"
import { httpBackend, portOf } from "../http/edge.ts"
import { startHeadgate, until } from "../program.ts"

/** A backend that answers when it is told to, all who wait at once. */
const holding = Effect.gen(function* () {
  const held: Array<() => void> = []
  const state = {
    served: 0,
    waiting: () => held.length,
    release: () => {
      for (const answer of held.splice(0)) answer()
    }
  }
  const server = yield* httpBackend((request, response) => {
    request.resume()
    held.push(() => {
      state.served++
      response.end("whole")
    })
  })
  return { state, port: portOf(server.address()) }
})

const immediate = Effect.map(
  httpBackend((request, response) => {
    request.resume()
    response.end("whole")
  }),
  (server) => portOf(server.address())
)

const configuration = (backend: number, version: string, port = 8080) => `
config: { connectionTerminationDeadline: 10s }
gateways: { default: { port: ${port} } }
routes:
  - name: all
    policies:
      responseHeaderModifier: { set: { x-version: "${version}" } }
    backends:
      - host: 127.0.0.1:${backend}
`

describe("under load", () => {
  it.live("a bad edit changes nothing, says where it is wrong, and the next good one is taken", () =>
    Effect.gen(function* () {
      const port = yield* immediate
      const listener = yield* Effect.promise(freePort)
      yield* Effect.promise(async () => {
        const folder = await mkdtemp(join(tmpdir(), "headgate-"))
        const file = join(folder, "config.yaml")
        writeFileSync(file, configuration(port, "1", listener))
        await using program = await startHeadgate(["-f", file])
        const version = async () => (await send(listener)).headers["x-version"]
        assert.strictEqual(await version(), "1")
        writeFileSync(file, configuration(port, "2", listener).replace("policies", "polices"))
        await program.says(/Failed to reload config: .*config\.yaml:6:5: .*polices/)
        assert.strictEqual(await version(), "1")
        writeFileSync(file, configuration(port, "2", listener))
        await until("the edit is taken", async () => (await version()) === "2")
        await rm(folder, { recursive: true })
      })
    })
  )

  it.live("SIGTERM lets requests in flight finish, and takes no more", () =>
    Effect.gen(function* () {
      const { state, port } = yield* holding
      const listener = yield* Effect.promise(freePort)
      yield* Effect.promise(async () => {
        await using program = await startHeadgate(["-c", configuration(port, "1", listener)])
        const answers = Array.from({ length: 200 }, () => send(listener))
        await until("the requests are in flight", () => state.waiting() === 200)
        program.child.kill("SIGTERM")
        await program.says(/shutting down/)
        const late = await send(listener).then(
          () => "answered",
          (error: NodeJS.ErrnoException) => error.code
        )
        assert.strictEqual(late, "ECONNREFUSED")
        state.release()
        for (const { status, body } of await Promise.all(answers)) assert.strictEqual(`${status} ${body}`, "200 whole")
        assert.strictEqual(await program.ended, 0)
        assert.strictEqual(state.served, 200)
      })
    })
  )

  it.live("what SIGTERM gives: connections are taken for the minimum, requests may last until the deadline", () =>
    Effect.gen(function* () {
      const { state, port } = yield* holding
      const listener = yield* Effect.promise(freePort)
      const deadlines = "connectionMinTerminationDeadline: 2s, connectionTerminationDeadline: 6s"
      yield* Effect.promise(async () => {
        const text = configuration(port, "1", listener).replace("connectionTerminationDeadline: 10s", deadlines)
        await using program = await startHeadgate(["-c", text])
        const outcome = (sent: Promise<{ readonly body: string }>) =>
          sent.then(
            ({ body }) => body,
            (error: NodeJS.ErrnoException) => String(error.code)
          )
        const first = outcome(send(listener))
        await until("the first request is in flight", () => state.waiting() === 1)
        program.child.kill("SIGTERM")
        await program.says(/shutting down/)
        const second = outcome(send(listener))
        await until("a request that came after the signal is in flight", () => state.waiting() === 2)
        await until("nothing is taken any more", async () => {
          const late = outcome(send(listener, { signal: AbortSignal.timeout(1000) }))
          return (await late) === "ECONNREFUSED"
        })
        // Both are still served.
        state.release()
        assert.deepStrictEqual(await Promise.all([first, second]), ["whole", "whole"])
        assert.strictEqual(await program.ended, 0)
      })
    })
  )

  it.live("a request that does not end is cut at the deadline", () =>
    Effect.gen(function* () {
      const { state, port } = yield* holding
      const listener = yield* Effect.promise(freePort)
      yield* Effect.promise(async () => {
        const text = configuration(port, "1", listener).replace("10s", "1s")
        await using program = await startHeadgate(["-c", text])
        const endless = send(listener).then(
          () => "answered",
          () => "cut"
        )
        await until("the request is in flight", () => state.waiting() === 1)
        program.child.kill("SIGTERM")
        assert.strictEqual(await endless, "cut")
        assert.strictEqual(await program.ended, 0)
      })
    })
  )

  it.live("one Ctrl-C that arrives twice drains; another one later does not wait", () =>
    Effect.gen(function* () {
      const { state, port } = yield* holding
      const listener = yield* Effect.promise(freePort)
      yield* Effect.promise(async () => {
        await using program = await startHeadgate(["-c", configuration(port, "1", listener)])
        const answer = send(listener).then(
          () => "answered",
          () => "cut"
        )
        await until("the request is in flight", () => state.waiting() === 1)
        program.child.kill("SIGINT")
        await program.says(/shutting down/)
        program.child.kill("SIGINT")
        await sleep(600)
        assert.isNull(program.child.exitCode)
        program.child.kill("SIGINT")
        assert.strictEqual(await program.ended, 130)
        assert.strictEqual(await answer, "cut")
      })
    })
  )
})
