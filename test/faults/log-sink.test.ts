import { spawn } from "node:child_process"
import { once } from "node:events"
import { existsSync, openSync } from "node:fs"
import { Agent } from "node:http"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { send } from "../client.ts"
import { nowhere } from "../origin.ts"
import { root, until } from "../program.ts"

const configuration = (port: number) => `
gateways: { default: { port: ${port} } }
routes:
  - name: all
    policies:
      directResponse: { status: 200, body: welcome }
`

const ports = { ADMIN_ADDR: "127.0.0.1:0", READINESS_ADDR: "127.0.0.1:0" }

const launch = (port: number, stdout: number | "pipe", stats = 0) =>
  spawn(process.execPath, [join(root, "bin/headgate.mjs"), "-c", configuration(port)], {
    stdio: ["ignore", stdout, "pipe"],
    env: { PATH: process.env["PATH"], ...ports, STATS_ADDR: `127.0.0.1:${stats}` }
  })

const answers = (port: number) =>
  until("the proxy answers", () =>
    send(port).then(
      ({ status }) => status === 200,
      () => false
    )
  )

describe("a log that cannot be written", () => {
  it.live("because its reader went away costs no request", () =>
    Effect.gen(function* () {
      const port = yield* nowhere
      yield* Effect.promise(async () => {
        const child = launch(port, "pipe")
        const ended = once(child, "close")
        await answers(port)
        child.stdout!.destroy()
        for (let i = 0; i < 50; i++) assert.strictEqual((await send(port)).body, "welcome")
        assert.isNull(child.exitCode)
        child.kill("SIGTERM")
        assert.deepStrictEqual(await ended, [0, null])
      })
    })
  )

  it.live("because its reader does not read costs no request, and no memory without end", () =>
    Effect.gen(function* () {
      const port = yield* nowhere
      const stats = yield* nowhere
      yield* Effect.promise(async () => {
        // Nobody reads this pipe, and 24 MB of lines are on their way into it.
        const child = launch(port, "pipe", stats)
        child.stdout!.pause()
        const ended = once(child, "exit")
        await answers(port)
        const agent = new Agent({ keepAlive: true, maxSockets: 20 })
        const path = `/${"x".repeat(8000)}`
        for (let i = 0; i < 75; i++)
          for (const { body } of await Promise.all(Array.from({ length: 40 }, () => send(port, { agent, path }))))
            assert.strictEqual(body, "welcome")
        agent.destroy()
        // What waits for the reader is bounded, and reaches it when it reads again; the lines beyond are lost.
        let read = 0
        let rest = ""
        child.stdout!.on("data", (chunk: Buffer) => {
          read += chunk.length
          rest += chunk.toString().replaceAll(/x{100,}/g, "")
        })
        child.stdout!.resume()
        await until("what was held arrives", () => read > 7.5 * 1024 * 1024)
        // Whoever reads the log or the metrics hears of them.
        const text = await (await fetch(`http://127.0.0.1:${stats}/metrics`)).text()
        const lost = Number(/^headgate_log_lines_lost_total\{reason="full"\} (\d+)$/m.exec(text)?.[1])
        assert.isAtLeast(lost, 1500)
        child.kill("SIGTERM")
        assert.deepStrictEqual(await ended, [0, null])
        assert.isBelow(read, 10 * 1024 * 1024)
        const told = Array.from(rest.matchAll(/\twarn\tlog\tlines of the log were lost lines=(\d+)\n/g))
        assert.strictEqual(
          told.reduce((sum, [, lines]) => sum + Number(lines), 0),
          lost
        )
      })
    })
  )

  for (const [reader, reads] of [
    ["that is late gets the last lines before the program ends", true],
    ["that does not read does not keep the program from ending", false]
  ] as const)
    it.live(`at once: a reader ${reader}`, () =>
      Effect.gen(function* () {
        const port = yield* nowhere
        yield* Effect.promise(async () => {
          const child = launch(port, "pipe")
          child.stdout!.pause()
          const ended = once(child, "exit")
          await answers(port)
          // More than a pipe holds.
          const path = `/${"x".repeat(8000)}`
          for (let i = 0; i < 40; i++) await send(port, { path })
          child.kill("SIGTERM")
          await until("the listener is closed", () =>
            send(port).then(
              () => false,
              () => true
            )
          )
          let printed = ""
          child.stdout!.setEncoding("utf8").on("data", (text: string) => {
            printed += text
          })
          if (reads) child.stdout!.resume()
          assert.deepStrictEqual(await ended, [0, null])
          if (!reads) return
          await until("what is in the pipe was read", () => child.stdout!.readableEnded)
          assert.strictEqual(printed.split("http.path=/xxx").length, 41)
          assert.match(printed, /shutting down\n$/)
        })
      })
    )

  it.live("because its device is full costs no request", () =>
    Effect.gen(function* () {
      const port = yield* nowhere
      yield* Effect.promise(async () => {
        // The device that is always full; systems without it have a closed descriptor instead.
        const full = existsSync("/dev/full") ? openSync("/dev/full", "w") : openSync("/dev/null", "r")
        const child = launch(port, full)
        const ended = once(child, "close")
        await answers(port)
        for (let i = 0; i < 50; i++) assert.strictEqual((await send(port)).body, "welcome")
        child.kill("SIGTERM")
        assert.deepStrictEqual(await ended, [0, null])
      })
    })
  )
})
