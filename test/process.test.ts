/** The program `headgate` as an operator starts and ends it: what it prints, and how it exits. */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { createServer } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { text } from "node:stream/consumers"
import { afterAll, assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { proxyCodes } from "../src/main/exit-codes.ts"
import { start } from "../src/main/library.ts"
import { send } from "./client.ts"
import { httpBackend, portOf } from "./http/edge.ts"
import { eventually, RawClient } from "./http/raw-client.ts"
import { nowhere } from "./origin.ts"
import { type Program, root, startHeadgate, startProgram } from "./program.ts"

const folder = mkdtempSync(join(tmpdir(), "headgate-process-"))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

let files = 0
const fileOf = (content: string): string => {
  const file = join(folder, `config${++files}.yaml`)
  writeFileSync(file, content)
  return file
}

const direct = (port: number, more = "") => `
gateways: { default: { port: ${port} } }
routes: [{ policies: { directResponse: { status: 200, body: hello } } }]
${more}`

/** Runs the program to its end. */
const ran = async (args: ReadonlyArray<string>, input = "", env: Readonly<Record<string, string>> = {}) => {
  const child = spawn(process.execPath, [join(root, "bin/headgate.mjs"), ...args], {
    cwd: folder,
    env: { PATH: process.env["PATH"], ADMIN_ADDR: "off", STATS_ADDR: "off", READINESS_ADDR: "off", ...env }
  })
  child.stdin.end(input)
  const [stdout, stderr, [status]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "close")])
  return { status, stdout, stderr }
}

const started = (args: ReadonlyArray<string>, env: Readonly<Record<string, string>> = {}) =>
  Effect.acquireRelease(
    Effect.promise(() => startHeadgate(args, env)),
    (program) => Effect.promise(() => program[Symbol.asyncDispose]())
  )

const portIn = (program: Program, component: string): number =>
  Number(program.printed().match(new RegExp(`listener established address=\\S+:(\\d+) component=${component}`))?.[1])

describe("what it prints", () => {
  it.live("the file, the admin interface and each listener, as they are", () =>
    Effect.gen(function* () {
      const port = yield* nowhere
      const file = fileOf(direct(port))
      const program = yield* started(["-f", file])
      yield* Effect.promise(() => program.says(/Watching config file/))
      const lines = program
        .printed()
        .trimEnd()
        .split("\n")
        .map((line) =>
          line.replace(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z\t/, "").replace(/127\.0\.0\.1:\d+/, "127.0.0.1:PORT")
        )
      assert.includeMembers(lines, [
        `info\tproxy\tloaded config from ${file}`,
        "info\tproxy\tlistener established address=127.0.0.1:PORT component=readiness",
        "info\tproxy\tlistener established address=127.0.0.1:PORT component=stats",
        "info\tproxy\tlistener established address=127.0.0.1:PORT component=admin",
        `info\tproxy\tWatching config file: ${file}`
      ])
      assert.isTrue(lines.some((line) => line.startsWith(`info\tproxy\tstarted bind bind=bind/${port} address=`)))
      assert.isTrue(lines.some((line) => line.includes(`http://localhost:${portIn(program, "admin")}`)))
      assert.strictEqual((yield* Effect.promise(() => send(port))).body, "hello")
    })
  )

  it.live("as JSON when the configuration says so, and the environment says more", () =>
    Effect.gen(function* () {
      const port = yield* nowhere
      const configuration = direct(port, "config: { logging: { format: json, level: error } }")
      const program = startProgram(process.execPath, [join(root, "bin/headgate.mjs"), "-c", configuration], {
        RUST_LOG: "info",
        ADMIN_ADDR: "off",
        STATS_ADDR: "off",
        READINESS_ADDR: "off"
      })
      yield* Effect.addFinalizer(() => Effect.promise(() => program[Symbol.asyncDispose]()))
      yield* Effect.promise(() => program.says(/"message":"started bind"/))
      yield* Effect.promise(() => send(port))
      const [line] = yield* Effect.promise(() => program.says(/^\{.*"scope":"request".*\}$/m))
      const entry = JSON.parse(line)
      assert.deepInclude(entry, {
        level: "info",
        scope: "request",
        "http.status": 200,
        "http.method": "GET",
        reason: "DirectResponse"
      })
      assert.match(entry.duration, /^\d+ms$/)
    })
  )

  it("its version, short or whole", async () => {
    const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"))
    const [short, whole] = await Promise.all([ran(["-V"]), ran(["--version"])])
    assert.deepStrictEqual(short, { status: 0, stdout: `${version}\n`, stderr: "" })
    assert.strictEqual(whole.status, 0)
    const built = ["version", "git_revision", "node_version", "build_profile", "build_target"]
    assert.deepStrictEqual(Object.keys(JSON.parse(whole.stdout)), built)
  })
})

describe("how it exits when it cannot start", () => {
  it("with 1, and what is wrong", async () => {
    const file = fileOf("gateways: { default: { port: 70000 } }\nroutes:\n  - policys: {}\n")
    const [wrong, broken, missing, both, unknown, unset] = await Promise.all([
      ran(["-f", file]),
      ran(["-f", fileOf("routes: [")]),
      ran(["-f", "nowhere.yaml"]),
      ran(["-f", "a", "-c", "b"]),
      ran(["--fille", "a"]),
      ran(["-c", "gateways: { default: { port: $NOT_THERE } }"])
    ])
    for (const { status } of [wrong, broken, missing, both, unknown, unset]) assert.strictEqual(status, 1)
    // Every problem with its place.
    assert.include(wrong.stderr, `${file}:1:30: gateways.default.port: `)
    assert.include(wrong.stderr, `${file}:3:5: routes[0].policys: unknown key, did you mean policies?`)
    assert.match(broken.stderr, /config\d+\.yaml:1:\d+: /)
    assert.strictEqual(missing.stderr, "cannot read nowhere.yaml: there is no such file\n")
    assert.strictEqual(both.stderr, "only one of --config or --file\n")
    assert.strictEqual(unknown.stderr, "Unknown option '--fille'; headgate --help shows what there is\n")
    assert.match(unset.stderr, /^<inline>:1:30: .*NOT_THERE/)
  })

  it("with 1, and the variable that is at fault", async () => {
    const { status, stderr } = await ran(["-c", direct(0)], "", { LOG_FORMAT: "pretty", WORKER_THREADS: "none" })
    assert.strictEqual(status, 1)
    assert.include(stderr, 'LOG_FORMAT: expected one of "text", "json"\n')
    assert.include(stderr, "WORKER_THREADS: expected a number of threads")
  })

  it("with 0 when asked for help, which tells the codes", async () => {
    const { status, stdout } = await ran(["--help"])
    assert.strictEqual(status, 0)
    for (const { code, meaning } of proxyCodes) assert.include(stdout, `\n  ${String(code).padEnd(3)}  ${meaning}\n`)
  })

  it("with 0 when there is nothing to check, and makes no file", async () => {
    const home = join(folder, "nobody")
    const { status, stdout } = await ran(["--validate-only"], "", { XDG_CONFIG_HOME: home })
    assert.deepStrictEqual([status, stdout], [0, "No local configuration\nConfiguration is valid!\n"])
    assert.isFalse(existsSync(home))
  })

  it.live("a busy port: which setting to change, and 1", () =>
    Effect.gen(function* () {
      const port = yield* nowhere
      yield* Effect.acquireRelease(
        Effect.promise(
          () =>
            new Promise<ReturnType<typeof createServer>>((resolve) => {
              const server = createServer().listen(port, () => resolve(server))
            })
        ),
        (server) => Effect.promise(() => new Promise((resolve) => server.close(resolve)))
      )
      const { status, stderr } = yield* Effect.promise(() => ran(["-c", direct(port)]))
      assert.strictEqual(status, 1)
      assert.strictEqual(
        stderr,
        `cannot listen on [::]:${port}: another process uses this address; change gateways.default.port\n`
      )
    })
  )
})

describe("more problems than a pipe holds", () => {
  const many = 4000
  const file = fileOf(`binds:\n${"- port: x\n".repeat(many)}`)
  for (const args of [
    ["--validate-only", "-f", file],
    ["-f", file]
  ])
    it(`are told to the last: ${args.slice(0, -1).join(" ")}`, { timeout: 30_000 }, async () => {
      const { status, stderr } = await ran(args)
      assert.strictEqual(status, 1)
      assert.strictEqual(new Set(stderr.match(/^\S+?:\d+(?=:)/gm)).size, many)
    })
})

describe("--validate-only", () => {
  it("starts nothing, and tells whether the configuration could be", async () => {
    const routed =
      "{ gateways: { default: { port: 1 } }, routes: [{ policies: { authorization: { rules: ['1 +'] } } }] }"
    const [valid, piped, wrong, expression] = await Promise.all([
      ran(["--validate-only", "-f", fileOf(direct(1))]),
      ran(["--validate-only", "-f", "-"], direct(1)),
      ran(["--validate-only", "-c", "routes: 1"]),
      ran(["--validate-only", "-c", routed])
    ])
    assert.deepStrictEqual(valid, { status: 0, stdout: "Configuration is valid!\n", stderr: "" })
    assert.deepStrictEqual(piped, { status: 0, stdout: "Configuration is valid!\n", stderr: "" })
    assert.deepStrictEqual([wrong.status, wrong.stdout], [1, ""])
    assert.match(wrong.stderr, /^<inline>:1:9: routes: /)
    // What only compiling finds.
    assert.strictEqual(expression.status, 1)
    assert.match(
      expression.stderr,
      /^<inline>:1:\d+: routes\[0\]\.policies\.authorization\.rules\[0\]: invalid expression/m
    )
  })

  it("tells apart what is wrong and what is not available yet, which only a start refuses", async () => {
    const lacking = `{ gateways: { default: { port: 1 } }, routes: [{ policies: { extProc: { host: "p:1" }, extAuthz: { host: "p:1" } }, backends: [{ host: "a:1" }] }] }`
    const [unavailable, started, annotated] = await Promise.all([
      ran(["--validate-only", "-c", lacking]),
      ran(["-c", lacking]),
      ran(["--format", "github", "-c", "routes: 1"])
    ])
    assert.deepStrictEqual(
      [unavailable.status, unavailable.stdout],
      [3, "valid, but this build cannot serve 2 things\n"]
    )
    assert.match(
      unavailable.stderr,
      /^<inline>:1:\d+: warning: routes\[0\]\.policies\.extProc: policy extProc is not available yet \[unavailable\]\n/
    )
    assert.deepStrictEqual([started.status, started.stdout], [1, ""])
    assert.match(
      started.stderr,
      /^<inline>:1:\d+: routes\[0\]\.policies\.extProc: policy extProc is not available yet\n/m
    )
    assert.strictEqual(annotated.status, 1)
    assert.match(annotated.stderr, /^::error file=<inline>,line=1,col=9,title=routes::/)
  })
})

const tooOld = 'data:text/javascript,Object.defineProperty(process.versions,"node",{value:"20.19.0"})'

describe("SIGHUP", () => {
  for (const [by, options] of [
    ["the program itself", []],
    ["the launcher on a runtime that is too old", ["--import", tooOld]]
  ] as const)
    it.live(`sent to ${by}: the configuration is read anew, and what is under way goes on`, () =>
      Effect.gen(function* () {
        const port = yield* nowhere
        const file = fileOf(direct(port))
        const management = { ADMIN_ADDR: "127.0.0.1:0", STATS_ADDR: "127.0.0.1:0", READINESS_ADDR: "127.0.0.1:0" }
        const program = yield* Effect.acquireRelease(
          Effect.sync(() =>
            startProgram(process.execPath, [...options, join(root, "bin/headgate.mjs"), "-f", file], management)
          ),
          (program) => Effect.promise(() => program[Symbol.asyncDispose]())
        )
        yield* Effect.promise(() => program.says(/Watching config file/))
        const loads = () => program.printed().split("loaded config from").length - 1
        const before = loads()
        program.child.kill("SIGHUP")
        yield* Effect.promise(() => program.says(/SIGHUP: reading the configuration anew/))
        yield* Effect.promise(() => eventually(() => loads() === before + 1))
        assert.strictEqual((yield* Effect.promise(() => send(port))).body, "hello")
        writeFileSync(file, "routes: 1")
        program.child.kill("SIGHUP")
        yield* Effect.promise(() => program.says(/Failed to reload config: \S+:1:9: routes: /))
        assert.strictEqual((yield* Effect.promise(() => send(port))).body, "hello")
        program.child.kill("SIGTERM")
        assert.strictEqual(yield* Effect.promise(() => program.ended), 0)
      })
    )

  it.live("during the start is no end of it", () =>
    Effect.gen(function* () {
      const port = yield* nowhere
      const program = startProgram(process.execPath, [join(root, "bin/headgate.mjs"), "-c", direct(port)], {
        ADMIN_ADDR: "127.0.0.1:0",
        STATS_ADDR: "off",
        READINESS_ADDR: "off"
      })
      yield* Effect.addFinalizer(() => Effect.promise(() => program[Symbol.asyncDispose]()))
      yield* Effect.promise(() => program.says(/started bind/))
      program.child.kill("SIGHUP")
      yield* Effect.promise(() => program.says(/SIGHUP: reading the configuration anew/))
      assert.strictEqual((yield* Effect.promise(() => send(port))).body, "hello")
    })
  )
})

describe("the launcher on a runtime that is too old", () => {
  it.live("takes the proxy with it, however it ends, and what is under way is finished", () =>
    Effect.gen(function* () {
      const held: Array<() => void> = []
      const server = yield* httpBackend((_, response) => {
        response.write("first ")
        held.push(() => response.end("last"))
      })
      const port = yield* nowhere
      const text = `
config: { adminAddr: off, statsAddr: off, readinessAddr: off }
gateways: { default: { port: ${port} } }
routes: [{ backends: [{ host: "127.0.0.1:${portOf(server.address())}" }] }]
`
      const program = startProgram(process.execPath, ["--import", tooOld, join(root, "bin/headgate.mjs"), "-c", text])
      yield* Effect.addFinalizer(() => Effect.promise(() => program[Symbol.asyncDispose]()))
      yield* Effect.promise(() => program.says(/started bind/))
      const answer = send(port)
      yield* Effect.promise(() => eventually(() => held.length === 1))
      program.child.kill("SIGKILL")
      yield* Effect.promise(() => eventually(() => program.printed().includes("shutting down"), 20_000))
      held[0]!()
      assert.strictEqual((yield* Effect.promise(() => answer)).body, "first last")
      // Its output closes when the last process that has it is gone.
      assert.strictEqual(yield* Effect.promise(() => program.ended), "SIGKILL")
    })
  )
})

describe("npx", () => {
  it.live.each(["headgate", "'headgate'"])("takes the proxy %s with it, although it tells its shell alone", (asked) =>
    Effect.gen(function* () {
      const port = yield* nowhere
      const env = { npm_lifecycle_event: "npx", npm_lifecycle_script: asked }
      // Arguments behind the command keep a shell from becoming the command.
      const line = `"${process.execPath}" "${join(root, "bin/headgate.mjs")}" "$@"; exit`
      const config = `config: { adminAddr: off, statsAddr: off, readinessAddr: off }${direct(port)}`
      const program = startProgram("sh", ["-c", line, "headgate", "-c", config], env)
      yield* Effect.addFinalizer(() => Effect.promise(() => program[Symbol.asyncDispose]()))
      yield* Effect.promise(() => program.says(/started bind/))
      program.child.kill("SIGTERM")
      // Its output closes when the last process that has it is gone.
      assert.strictEqual(yield* Effect.promise(() => program.ended), "SIGTERM")
      assert.include(program.printed(), "shutting down")
    })
  )
})

describe("an exception that nobody caught", () => {
  /** Loaded before the program: throws from a callback that is none of the program's. */
  const loose = `data:text/javascript,${encodeURIComponent("process.on('SIGUSR2',()=>{throw new Error('loose')})")}`

  it.live("is told and counted, and the program goes on", () =>
    Effect.gen(function* () {
      const [port, stats] = [yield* nowhere, yield* nowhere]
      const env = { NODE_OPTIONS: `--import=${loose}`, STATS_ADDR: `127.0.0.1:${stats}` }
      const program = yield* Effect.acquireRelease(
        Effect.promise(() => startHeadgate(["-f", fileOf(direct(port))], env)),
        (program) => Effect.promise(() => program[Symbol.asyncDispose]())
      )
      yield* Effect.promise(async () => {
        await program.says(/component=admin/)
        assert.strictEqual((await send(port)).status, 200)
        program.signal("SIGUSR2")
        await program.says(/\terror\tprocess\ta defect was contained error=".*loose/)
        assert.strictEqual((await send(port)).status, 200)
        const { body } = await send(stats, { path: "/metrics" })
        assert.match(body.toString(), /^headgate_defects_total\{place="process"\} 1$/m)
      })
    })
  )

  it.live("is the embedding program's own affair", () =>
    Effect.gen(function* () {
      const handlers = () => ["uncaughtException", "unhandledRejection"].map((name) => process.listeners(name as never))
      const before = handlers()
      yield* start(direct(8080), { ephemeral: true, host: "127.0.0.1" })
      assert.deepStrictEqual(handlers(), before)
    })
  )
})

describe("how it ends", () => {
  const slow = Effect.gen(function* () {
    const held: Array<() => void> = []
    const server = yield* httpBackend((_, response) => {
      response.write("first ")
      held.push(() => response.end("last"))
    })
    const port = yield* nowhere
    const configuration = (deadline: string) => `
config: { connectionTerminationDeadline: ${deadline} }
gateways: { default: { port: ${port} } }
routes: [{ backends: [{ host: "127.0.0.1:${portOf(server.address())}" }] }]
`
    return { held, port, configuration }
  })

  for (const how of ["SIGTERM", "SIGINT", "/quitquitquit"] as const)
    it.live(`${how}: what is under way is finished, nothing new is taken, and 0`, () =>
      Effect.gen(function* () {
        const { held, port, configuration } = yield* slow
        const program = yield* started(["-c", configuration("10s")])
        const answer = send(port)
        yield* Effect.promise(() => eventually(() => held.length === 1))
        if (how === "/quitquitquit")
          yield* Effect.promise(() => send(portIn(program, "admin"), { method: "POST", path: how }))
        else program.child.kill(how)
        yield* Effect.promise(() => program.says(/shutting down/))
        const refused = Effect.flip(Effect.tryPromise(() => send(port)))
        yield* Effect.timeout(Effect.eventually(refused), "2 seconds")
        held[0]!()
        const { body } = yield* Effect.promise(() => answer)
        assert.strictEqual(body, "first last")
        assert.strictEqual(yield* Effect.promise(() => program.ended), 0)
      })
    )

  it.live("readiness fails first, while the port still accepts for its minimum", () =>
    Effect.gen(function* () {
      const port = yield* nowhere
      const settings = "connectionMinTerminationDeadline: 2s, connectionTerminationDeadline: 4s"
      const program = yield* started(["-c", direct(port, `config: { ${settings} }`)])
      const ready = () => send(portIn(program, "readiness"), { path: "/healthz/ready" })
      assert.strictEqual((yield* Effect.promise(ready)).status, 200)
      program.child.kill("SIGTERM")
      yield* Effect.promise(() => program.says(/shutting down/))
      const { status, body } = yield* Effect.promise(ready)
      assert.deepStrictEqual([status, body], [503, "not ready, draining\n"])
      assert.strictEqual((yield* Effect.promise(() => send(port))).body, "hello")
      yield* Effect.timeout(Effect.eventually(Effect.flip(Effect.tryPromise(() => send(port)))), "4 seconds")
      assert.strictEqual(yield* Effect.promise(() => program.ended), 0)
    })
  )

  it.live("what does not finish in time is cut, and 0", () =>
    Effect.gen(function* () {
      const { held, port, configuration } = yield* slow
      const program = yield* started(["-c", configuration("300ms")])
      const client = new RawClient(port)
      client.send("GET / HTTP/1.1\r\nhost: a.example\r\n\r\n")
      yield* Effect.promise(() => eventually(() => held.length === 1))
      const begun = performance.now()
      program.child.kill("SIGTERM")
      assert.strictEqual(yield* Effect.promise(() => program.ended), 0)
      assert.isAtMost(performance.now() - begun, 20_000)
      assert.isTrue(client.closed || client.ended)
      assert.notInclude(client.text, "last")
    })
  )

  it.live("whoever asks twice does not wait", () =>
    Effect.gen(function* () {
      const { held, port, configuration } = yield* slow
      const program = yield* started(["-c", configuration("1m")])
      const asked = send(port).catch(() => "cut")
      yield* Effect.promise(() => eventually(() => held.length === 1))
      program.child.kill("SIGINT")
      yield* Effect.promise(() => program.says(/shutting down/))
      // One Ctrl-C may arrive twice, by way of npm: that is not asking twice.
      program.child.kill("SIGINT")
      yield* Effect.sleep("600 millis")
      assert.isNull(program.child.exitCode)
      program.child.kill("SIGINT")
      assert.strictEqual(yield* Effect.promise(() => program.ended), 130)
      assert.strictEqual(yield* Effect.promise(() => asked), "cut")
    })
  )

  it.live("a signal that comes again at once does not keep it from ending in order", () =>
    Effect.gen(function* () {
      const port = yield* nowhere
      const program = yield* started(["-c", direct(port)])
      // Whoever passes signals on sends each a moment after the terminal did.
      for (const end = performance.now() + 250; performance.now() < end; ) program.child.kill("SIGINT")
      assert.strictEqual(yield* Effect.promise(() => program.ended), 0)
    })
  )

  it.live("a signal while it still starts ends it, too", () =>
    Effect.gen(function* () {
      const port = yield* nowhere
      const program = startProgram(process.execPath, [join(root, "bin/headgate.mjs"), "-c", direct(port)])
      yield* Effect.addFinalizer(() => Effect.promise(() => program[Symbol.asyncDispose]()))
      yield* Effect.sleep("150 millis")
      program.child.kill("SIGTERM")
      const ended = yield* Effect.promise(() => program.ended)
      assert.include([0, "SIGTERM"], ended)
    })
  )
})
