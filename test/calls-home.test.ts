/** Nothing calls home: a proxy that starts, serves and ends opens no connection but to what its file names, and asks no name server. */
import { once } from "node:events"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { nowhere } from "./origin.ts"
import { type Program, root, shell, startProgram } from "./program.ts"

/** Notes what the runtime itself opens, whoever asked it to: connections, look-ups of names, datagrams. */
const recorder = (list: string) => `import { createHook } from "node:async_hooks"
import { writeFileSync } from "node:fs"
const opened = []
const kinds = ["TCPCONNECTWRAP", "PIPECONNECTWRAP", "GETADDRINFOREQWRAP", "GETNAMEINFOREQWRAP", "QUERYWRAP", "UDPSENDWRAP"]
createHook({ init: (_, kind, __, what) => { if (kinds.includes(kind)) opened.push([kind, what]) } }).enable()
process.on("exit", () =>
  writeFileSync(${JSON.stringify(list)}, JSON.stringify(opened.map(([kind, { address, port, hostname }]) => ({ kind, address, port, hostname })))))
`

/** What a proxy with this configuration has opened from its start to its end. */
const openedBy = async (configuration: string, ask: (program: Program) => Promise<void>): Promise<unknown> => {
  const home = mkdtempSync(join(tmpdir(), "headgate-calls-home-"))
  try {
    const file = join(home, "config.yaml")
    const list = join(home, "opened.json")
    const told = join(home, "recorder.mjs")
    writeFileSync(file, configuration)
    writeFileSync(told, recorder(list))
    await using program = startProgram(
      process.execPath,
      ["--import", pathToFileURL(told).href, join(root, "bin/headgate.mjs"), "-f", file],
      { ADMIN_ADDR: "localhost:0", STATS_ADDR: "localhost:0", READINESS_ADDR: "localhost:0" }
    )
    await program.says(/loaded config from/)
    await ask(program)
    program.signal("SIGTERM")
    assert.strictEqual(await program.ended, 0)
    return JSON.parse(readFileSync(list, "utf8"))
  } finally {
    rmSync(home, { recursive: true })
  }
}

it("a start, requests and an end open the configured connections and no other", async () => {
  const backend = createServer((_, response) => response.end("backend")).listen(0, "127.0.0.1")
  await once(backend, "listening")
  try {
    const { port: behind } = backend.address() as AddressInfo
    const port = await Effect.runPromise(nowhere)
    const opened = await openedBy(
      `gateways: { default: { address: localhost, port: ${port} } }
routes: [{ backends: [{ host: "127.0.0.1:${behind}" }] }]
`,
      async () => assert.strictEqual(await (await fetch(`http://127.0.0.1:${port}/`)).text(), "backend")
    )
    assert.deepStrictEqual(opened, [{ kind: "TCPCONNECTWRAP", address: "127.0.0.1", port: behind }])
  } finally {
    backend.close()
  }
})

it("the quickstart, whose models and tools are its own, opens no connection at all", async () => {
  const quickstart = readFileSync(join(root, "examples/quickstart/config.yaml"), "utf8")
  const port = await Effect.runPromise(nowhere)
  const opened = await openedBy(quickstart.replaceAll("3000", String(port)), async (program) => {
    await program.says(/\ttry: .*\n.*\ttry: .*\n/)
    for (const [, command] of program.printed().matchAll(/\ttry: (.*)\n/g)) {
      const { code, output } = await shell(`${command} --silent --fail`)
      assert.strictEqual(code, 0, output)
    }
  })
  assert.deepStrictEqual(opened, [])
})
