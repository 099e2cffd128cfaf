/** What the programs do on other systems, as far as a program can be told that it is on one. */
import { spawnSync } from "node:child_process"
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import { afterAll, assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { hostsFile } from "../layers/dns/layer.ts"
import { nowhere } from "./origin.ts"
import { root, startProgram } from "./program.ts"

const home = mkdtempSync(join(tmpdir(), "headgate-platforms-"))
afterAll(() => rmSync(home, { recursive: true, force: true }))

/** Arguments of a runtime that takes itself for one of that system. */
const on = (platform: NodeJS.Platform, program: "headgate" | "headgatectl"): ReadonlyArray<string> => {
  const told = join(home, `${platform}.mjs`)
  writeFileSync(told, `Object.defineProperty(process, "platform", { value: ${JSON.stringify(platform)} })`)
  return ["--import", pathToFileURL(told).href, join(root, "bin", `${program}.mjs`)]
}

const validated = (platform: NodeJS.Platform, text: string) => {
  const file = join(home, "config.yaml")
  writeFileSync(file, text)
  const args = [...on(platform, "headgatectl"), "validate", file]
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: "utf8" })
  return { status, said: `${stdout}${stderr}`.trim().replaceAll(file, "config.yaml") }
}

const stdio = `gateways: { default: { port: 8080 } }
routes:
  - backends:
      - mcp:
          targets:
            - name: files
              stdio: { cmd: npx }
`

describe("on Windows", () => {
  it("a server that would be a child process is refused at its place, with what to do", () => {
    const { status, said } = validated("win32", stdio)
    assert.strictEqual(status, 1, said)
    assert.match(
      said,
      /config\.yaml:7:22: routes\[0\]\.backends\[0\]\.mcp\.targets\[0\]\.stdio: child processes are not served/
    )
    assert.match(said, /run headgate in WSL/)
  })

  it("a socket in a folder is refused, with what to write", async () => {
    const file = join(home, "socket.yaml")
    writeFileSync(file, `gateways: { default: { port: 1, address: "unix:${join(home, "socket")}" } }\nroutes: []\n`)
    await using program = startProgram(process.execPath, [...on("win32", "headgate"), "-f", file])
    await program.says(
      /cannot listen on unix:.*: Windows has no sockets in folders; listen on an IP address or localhost/
    )
    assert.strictEqual(await program.ended, 1)
  })

  it("the home of a user has another name", () => {
    const user = join(home, "user")
    mkdirSync(user)
    writeFileSync(join(user, "keys.json"), '{"keys":[]}')
    const file = join(home, "home.yaml")
    const jwt = '{ mode: strict, issuer: a, audiences: [b], jwks: { file: "~/keys.json" } }'
    writeFileSync(
      file,
      `gateways: { default: { port: 8080 } }
routes: [{ policies: { jwtAuth: ${jwt}, directResponse: { status: 200 } } }]
`
    )
    const { stdout, stderr } = spawnSync(process.execPath, [...on("win32", "headgatectl"), "validate", file], {
      encoding: "utf8",
      env: { PATH: process.env["PATH"], USERPROFILE: user }
    })
    assert.strictEqual(`${stdout}${stderr}`, "Configuration is valid!\n")
  })

  it("names of this machine stand in its own folder", () => {
    assert.strictEqual(hostsFile("win32", { SystemRoot: "D:\\Windows" }), "D:\\Windows\\System32\\drivers\\etc\\hosts")
    assert.strictEqual(hostsFile("win32", {}), "C:\\Windows\\System32\\drivers\\etc\\hosts")
    assert.strictEqual(hostsFile("darwin", {}), "/etc/hosts")
  })

  it("everything else is served", async () => {
    const port = await Effect.runPromise(nowhere)
    const file = join(home, "served.yaml")
    writeFileSync(
      file,
      `config: { adminAddr: off, statsAddr: off, readinessAddr: off }
gateways: { default: { port: ${port} } }
routes: [{ policies: { directResponse: { status: 200, body: hello } } }]
`
    )
    await using program = startProgram(process.execPath, [...on("win32", "headgate"), "-f", file])
    await program.says(/loaded config from/)
    assert.strictEqual(await (await fetch(`http://127.0.0.1:${port}/`)).text(), "hello")
    program.signal("SIGTERM")
    assert.strictEqual(await program.ended, 0)
  })
})

describe.each(["linux", "darwin"] as const)("on %s", (platform) => {
  it("a server that is a child process is served", () => {
    assert.deepStrictEqual(validated(platform, stdio), { status: 0, said: "Configuration is valid!" })
  })
})
