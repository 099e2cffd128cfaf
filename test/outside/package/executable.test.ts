/** The single executable of this machine, run where there is neither the repository nor a runtime. */
import { spawn, spawnSync } from "node:child_process"
import { once } from "node:events"
import {
  chmodSync,
  closeSync,
  cpSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync
} from "node:fs"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { nowhere } from "../../origin.ts"
import { until } from "../../program.ts"

const root = resolve(import.meta.dirname, "..", "..", "..")
const home = mkdtempSync(join(tmpdir(), "headgate-executable-"))
const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"))
const env = { PATH: "/nonexistent", HOME: home }

const build = (...args: ReadonlyArray<string>) => {
  const { status, stdout, stderr } = spawnSync(process.execPath, ["build/binary.ts", ...args], {
    cwd: root,
    encoding: "utf8"
  })
  return { status, said: `${stdout}${stderr}`.trim() }
}

const run = (program: "headgate" | "headgatectl", ...args: ReadonlyArray<string>) => {
  const { status, stdout, stderr } = spawnSync(join(home, program), args, { cwd: home, encoding: "utf8", env })
  return { status, said: `${stdout}${stderr}`.trim() }
}

beforeAll(() => {
  const { status, said } = build(`${process.platform}-${process.arch}`)
  assert.strictEqual(status, 0, said)
  cpSync(said.split("\n").at(-1)!, home, { recursive: true, verbatimSymlinks: true })
}, 300_000)

afterAll(() => rmSync(home, { recursive: true, force: true }))

/** Serves a configuration, with the log in a file, while something is done. */
const served = async (body: (log: () => string, pid: number) => Promise<void>, ...args: ReadonlyArray<string>) => {
  const log = join(home, "log")
  rmSync(log, { force: true })
  const stdout = openSync(log, "a")
  const child = spawn(join(home, "headgate"), args, { cwd: home, env, stdio: ["ignore", stdout, stdout] })
  closeSync(stdout)
  const ended = once(child, "exit")
  const printed = () => readFileSync(log, "utf8")
  try {
    await until("it serves", () => /loaded config from/.test(printed()))
    await body(printed, child.pid!)
  } finally {
    child.kill("SIGTERM")
  }
  assert.deepStrictEqual(await ended, [0, null])
}

const quiet = "config: { adminAddr: off, statsAddr: off, readinessAddr: off }"

describe("the single executable", () => {
  it("has with it what it is made of, and the licences", () => {
    assert.deepStrictEqual(readdirSync(home).sort(), [
      "LICENSE",
      "LICENSE-node",
      "THIRD-PARTY-NOTICES.txt",
      "completions",
      "headgate",
      "headgatectl",
      "man",
      "sbom.cdx.json"
    ])
    const { components } = JSON.parse(readFileSync(join(home, "sbom.cdx.json"), "utf8"))
    assert.include(
      components.map(({ purl }: { readonly purl: string }) => purl),
      `pkg:generic/node@${process.versions.node}`
    )
    assert.isFalse(readFileSync(join(home, "headgate")).includes(root), "a path of the machine that built it")
  })

  it("is one program or the other, by its name or its first word", () => {
    assert.deepStrictEqual(run("headgate", "-V"), { status: 0, said: version })
    assert.deepStrictEqual(run("headgatectl", "version"), { status: 0, said: version })
    assert.deepStrictEqual(run("headgate", "ctl", "version"), { status: 0, said: version })
    assert.match(run("headgate", "--help").said, /^headgate: a gateway/)
    assert.match(run("headgate", "ctl", "--help").said, /headgatectl/)
    assert.match(run("headgatectl", "cel", "eval", "1 + 1").said, /2/)
  })

  it("reads a large file, in the thread that it has for it", () => {
    const routes = Array.from(
      { length: 2000 },
      (_, i) =>
        `  - name: r${i}\n    matches: [{ path: { exact: /${i} } }]\n    policies: { directResponse: { status: 204 } }`
    )
    const file = join(home, "large.yaml")
    writeFileSync(file, `gateways: { default: { port: 8080 } }\nroutes:\n${routes.join("\n")}\n`)
    assert.deepStrictEqual(run("headgate", "--validate-only", "-f", file), {
      status: 0,
      said: "Configuration is valid!"
    })
  })

  it("serves, with its log written and its tokens counted by threads of its own", async () => {
    const port = await Effect.runPromise(nowhere)
    const file = join(home, "model.yaml")
    writeFileSync(
      file,
      `${quiet}
llm:
  port: ${port}
  models:
    - name: "*"
      provider: openAI
      params: { apiKey: key }
`
    )
    await served(
      async (log, pid) => {
        const answer = await fetch(`http://127.0.0.1:${port}/v1/messages/count_tokens`, {
          method: "POST",
          headers: { "content-type": "application/json", "anthropic-version": "2023-06-01" },
          body: '{"model":"m","messages":[{"role":"user","content":"How are you today?"}]}'
        })
        const said = await answer.text()
        assert.match(said, /"input_tokens":\s*[1-9]/)
        await until("it is logged", () => /\/v1\/messages\/count_tokens/.test(log()))
        const names = readdirSync(`/proc/${pid}/task`).map((id) =>
          readFileSync(`/proc/${pid}/task/${id}/comm`, "utf8").trim()
        )
        assert.include(names, "log")
      },
      "-f",
      file
    )
  })

  it("is healthy wherever it runs: it keeps no compiled code", () => {
    const file = join(home, "healthy.yaml")
    const text =
      "gateways: { default: { address: localhost, port: 18755 } }\nroutes: [{ policies: { directResponse: { status: 204 } } }]\n"
    writeFileSync(file, `${quiet}\n${text}`)
    chmodSync(home, 0o775)
    const { status, said } = run("headgatectl", "doctor", file)
    chmodSync(home, 0o700)
    assert.strictEqual(status, 0, said)
    assert.notMatch(said, /cache/)
  })

  it("serves while a command runs", async () => {
    const port = await Effect.runPromise(nowhere)
    const route = "routes: [{ policies: { directResponse: { status: 200, body: hello } } }]"
    const configuration = `${quiet}\ngateways: { default: { port: ${port} } }\n${route}\n`
    const { status, said } = run("headgate", "oneshot", "-c", configuration, "--", "/bin/sh", "-c", "echo ran; exit 7")
    assert.strictEqual(status, 7, said)
    assert.match(said, /^ran$/m)
  })
})

describe("npm run build:binary", () => {
  it("says in one line for what there is no executable", () => {
    assert.deepStrictEqual(build("darwin-arm64"), {
      status: 1,
      said: "there is no executable for darwin-arm64, but for linux-arm64, linux-x64"
    })
  })
})
