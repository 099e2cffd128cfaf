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
import { root, startProgram } from "./program.ts"

/** Notes what the runtime itself opens, whoever asked it to: connections, look-ups of names, datagrams. */
const recorder = (list: string) => `import { createHook } from "node:async_hooks"
import { writeFileSync } from "node:fs"
const opened = []
const kinds = ["TCPCONNECTWRAP", "PIPECONNECTWRAP", "GETADDRINFOREQWRAP", "GETNAMEINFOREQWRAP", "QUERYWRAP", "UDPSENDWRAP"]
createHook({ init: (_, kind, __, what) => { if (kinds.includes(kind)) opened.push([kind, what]) } }).enable()
process.on("exit", () =>
  writeFileSync(${JSON.stringify(list)}, JSON.stringify(opened.map(([kind, { address, port, hostname }]) => ({ kind, address, port, hostname })))))
`

it("a start, requests and an end open the configured connections and no other", async () => {
  const home = mkdtempSync(join(tmpdir(), "headgate-calls-home-"))
  const backend = createServer((_, response) => response.end("backend")).listen(0, "127.0.0.1")
  await once(backend, "listening")
  try {
    const { port: behind } = backend.address() as AddressInfo
    const [port, admin, stats, readiness] = await Effect.runPromise(Effect.all([nowhere, nowhere, nowhere, nowhere]))
    const file = join(home, "config.yaml")
    writeFileSync(
      file,
      `config: { adminAddr: "localhost:${admin}", statsAddr: "localhost:${stats}", readinessAddr: "localhost:${readiness}" }
gateways: { default: { address: localhost, port: ${port} } }
routes: [{ matches: [{ path: { exact: /behind } }], backends: [{ host: "127.0.0.1:${behind}" }] }]
llm: { gateways: default, models: [{ name: "*", provider: mock }] }
`
    )
    const list = join(home, "opened.json")
    const told = join(home, "recorder.mjs")
    writeFileSync(told, recorder(list))
    {
      await using program = startProgram(process.execPath, [
        ...["--import", pathToFileURL(told).href],
        ...[join(root, "bin/headgate.mjs"), "-f", file]
      ])
      await program.says(/loaded config from/)
      const address = `http://127.0.0.1:${port}`
      assert.strictEqual(await (await fetch(`${address}/behind`)).text(), "backend")
      const body = '{"model":"demo","messages":[{"role":"user","content":"Hello"}]}'
      const headers = { "content-type": "application/json" }
      const answer = await fetch(`${address}/v1/chat/completions`, { method: "POST", headers, body })
      assert.strictEqual(answer.status, 200)
      await answer.text()
      program.signal("SIGTERM")
      assert.strictEqual(await program.ended, 0)
    }
    assert.deepStrictEqual(JSON.parse(readFileSync(list, "utf8")), [
      { kind: "TCPCONNECTWRAP", address: "127.0.0.1", port: behind }
    ])
  } finally {
    backend.close()
    rmSync(home, { recursive: true })
  }
})
