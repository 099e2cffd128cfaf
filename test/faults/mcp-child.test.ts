import { readFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { start } from "../../src/main/library.ts"
import { connect1 } from "../outside/mcp/clients.ts"
import { until } from "../program.ts"

const configuration = `
mcp:
  port: 8080
  targets:
    - name: frail
      stdio: { cmd: "${process.execPath}", args: ["${join(import.meta.dirname, "stdio-server.ts")}"] }
    - name: sound
      stdio:
        cmd: "${process.execPath}"
        args: [node_modules/@modelcontextprotocol/server-everything/dist/index.js]
`

/** Whether a process runs. One that ended and was not waited for does not. */
const lives = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
  } catch {
    return false
  }
  try {
    return !/^\d+ \(.*\) Z/s.test(readFileSync(`/proc/${pid}/stat`, "utf8"))
  } catch {
    // A system without /proc.
    return true
  }
}

const textOf = (result: Readonly<Record<string, unknown>>) =>
  (result["content"] as ReadonlyArray<{ readonly text: string }>)[0]!.text

describe("an MCP server over stdio that is killed in the middle of a call", () => {
  it.live("fails that call alone: other targets live, and nothing of the dead one is left", () =>
    Effect.gen(function* () {
      const gateway = yield* start(configuration, { ephemeral: true, host: "127.0.0.1" })
      yield* Effect.promise(async () => {
        const url = new URL(`http://127.0.0.1:${gateway.port(8080)}/mcp`)
        const client = await connect1(url)
        const [server, child] = JSON.parse(textOf(await client.callTool("frail_processes", {})))
        assert.isTrue(lives(server) && lives(child))

        const hanging = client.callTool("frail_hang", {}).then(
          () => undefined,
          (error: Error) => error
        )
        const other = client.callTool("sound_echo", { message: "meanwhile" })
        assert.strictEqual(textOf(await other), "Echo: meanwhile")
        process.kill(server, "SIGKILL")
        const failure = await hanging
        assert.match(String(failure), /upstream closed on receive/)

        await until("the child of the server ends", () => !lives(child))
        assert.strictEqual(textOf(await client.callTool("sound_echo", { message: "still" })), "Echo: still")
        await client.close()

        // A new session starts a new one.
        const next = await connect1(url)
        const [another] = JSON.parse(textOf(await next.callTool("frail_processes", {})))
        assert.notStrictEqual(another, server)
        await next.close()
      })
    })
  )
})
