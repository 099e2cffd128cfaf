import { spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { open } from "../../../src/main/library.ts"
import { type FixtureServer, startFixture } from "./fixture-http.ts"

const suite = fileURLToPath(import.meta.resolve("@modelcontextprotocol/conformance/dist/index.js"))

interface Check {
  readonly id: string
  readonly status: string
  readonly errorMessage?: string
}

/** `scenario/check: status` of every check, in a fixed order. */
const score = async (url: string): Promise<ReadonlyArray<string>> => {
  const directory = mkdtempSync(join(tmpdir(), "conformance-"))
  const child = spawn(process.execPath, [suite, "server", "--url", url, "--suite", "all", "-o", directory], {
    stdio: ["ignore", "ignore", "inherit"]
  })
  await once(child, "close")
  const results = readdirSync(directory, { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith("checks.json"))
    .flatMap((file) => {
      // server-<scenario>-<time>/checks.json
      const scenario = file.replace(/^server-/, "").replace(/-\d{4}-\d\d-\d\dT.*$/, "")
      const checks = JSON.parse(readFileSync(join(directory, file), "utf8")) as ReadonlyArray<Check>
      // INFO records what was seen on the wire; it is no verdict.
      return checks
        .filter(({ status }) => status !== "INFO")
        .map(({ id, status, errorMessage }) => `${scenario}/${id}: ${status} ${errorMessage ?? ""}`.trim())
    })
  rmSync(directory, { recursive: true })
  return results.sort()
}

const throughHeadgate = async (
  target: Readonly<Record<string, unknown>>,
  statefulMode: "stateful" | "stateless" = "stateful"
): Promise<ReadonlyArray<string>> => {
  const mcp = { port: 8080, dnsRebindingProtection: true, statefulMode, targets: [{ name: "f", ...target }] }
  await using gateway = await open(JSON.stringify({ mcp }), { ephemeral: true, host: "127.0.0.1" })
  return await score(`http://127.0.0.1:${gateway.port(8080)}/mcp`)
}

describe("the official conformance suite", () => {
  let fixture: FixtureServer
  let direct: ReadonlyArray<string>
  beforeAll(async () => {
    fixture = await startFixture()
    direct = await score(`http://127.0.0.1:${fixture.port}/mcp`)
  })
  afterAll(() => fixture.close())

  it("passes without Headgate: every active scenario succeeds", () => {
    const scenarios = new Set(direct.map((line) => line.split("/")[0]))
    assert.isAtLeast(scenarios.size, 31)
    assert.deepStrictEqual(
      direct.filter((line) => line.includes(": FAILURE")),
      []
    )
    assert.isAtLeast(direct.filter((line) => line.includes(": SUCCESS")).length, 44)
  })

  const streamable = () => ({ mcp: { host: `http://127.0.0.1:${fixture.port}/mcp` } })
  const targets: Readonly<Record<string, () => Readonly<Record<string, unknown>>>> = {
    "streamable HTTP": streamable,
    "legacy HTTP+SSE": () => ({ sse: { host: `http://127.0.0.1:${fixture.port}/sse` } }),
    stdio: () => ({
      stdio: { cmd: process.execPath, args: [fileURLToPath(new URL("./fixture-stdio.ts", import.meta.url))] }
    })
  }
  for (const [name, target] of Object.entries(targets))
    it(`scores the same through Headgate, over ${name}`, async () => {
      assert.deepStrictEqual(await throughHeadgate(target()), direct)
    }, 120_000)

  it("scores the same without sessions, but for what needs the server to ask the client, or a session", async () => {
    const stateless = await throughHeadgate(streamable(), "stateless")
    const needsSession = /^(tools-call-sampling|tools-call-elicitation|elicitation-sep|server-sse)/
    const rest = (lines: ReadonlyArray<string>) => lines.filter((line) => !needsSession.test(line))
    assert.deepStrictEqual(rest(stateless), rest(direct))
    assert.isAbove(rest(direct).length, 28)
  })

  const client = fileURLToPath(new URL("./conformance-client.ts", import.meta.url))
  for (const scenario of ["initialize", "tools_call", "sse-retry", "elicitation-sep1034-client-defaults"])
    it(`a client behind the relay passes ${scenario}`, async () => {
      const command = `${process.execPath} ${client}`
      const child = spawn(process.execPath, [suite, "client", "--command", command, "--scenario", scenario], {
        stdio: ["ignore", "ignore", "pipe"]
      })
      let report = ""
      child.stderr.on("data", (chunk: Buffer) => {
        report += chunk
      })
      const [code] = (await once(child, "close")) as [number]
      assert.strictEqual(code, 0, report)
      assert.match(report, /0 failed, 0 warnings/)
    })
})
