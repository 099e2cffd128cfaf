import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { readFileSync } from "node:fs"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Layer, Scope } from "effect"
import { McpStdio, type McpStdioCommand } from "../../src/services/mcp-stdio.ts"
import type { McpTransport, TargetFailure } from "../../src/services/mcp-transport.ts"
import { until } from "../../test/program.ts"
import { layer, type StdioOptions } from "./layer.ts"

/** A zombie has ended: it only waits for whoever adopted it to look at its exit code. */
const alive = (pid: number) => {
  try {
    return !/^\d+ \(.*\) [ZX]/.test(readFileSync(`/proc/${pid}/stat`, "utf8"))
  } catch {
    return false
  }
}

const shell = (script: string, more: Partial<McpStdioCommand> = {}): McpStdioCommand => ({
  cmd: "/bin/sh",
  args: ["-c", script],
  env: {},
  inheritEnv: [],
  clearEnv: false,
  ...more
})

/** A port of its own, and everything that its transports report. */
const start = async ({ most = 512, ...options }: Partial<StdioOptions> & { readonly most?: number } = {}) => {
  const scope = Scope.makeUnsafe()
  const stderr: Array<string> = []
  const context = await Effect.runPromise(
    Layer.buildWithScope(
      Layer.fresh(layer({ graceMillis: 150, log: (_, line) => stderr.push(line), ...options })),
      scope
    )
  )
  const service = await Effect.runPromise(Effect.provideContext(McpStdio, context))
  const open = (command: McpStdioCommand, principal = "", backend = "b", network = "192.0.2.1") => {
    const messages: Array<string> = []
    const ends: Array<readonly [stream: number, failure: TargetFailure | undefined]> = []
    const deaths: Array<TargetFailure> = []
    const transport = service.open(
      command,
      { backend, backendName: backend, target: "t", principal, network, most, mostOfNetwork: 2 },
      {
        onMessage: (message) => messages.push(message),
        onOpen: () => {},
        onEnd: (stream, failure) => ends.push([stream, failure]),
        onDeath: (failure) => deaths.push(failure)
      }
    )
    return { transport: transport as McpTransport, refusal: transport as TargetFailure, messages, ends, deaths }
  }
  return { open, stderr, close: () => Effect.runPromise(Scope.close(scope, Exit.void)) }
}

const message = (text: string, stream: number, expectsAnswer: boolean) => ({
  message: text,
  stream,
  expectsAnswer,
  method: "m",
  headers: []
})

/** Tells the pids of itself and of a grandchild that would live on. */
const family = 'sleep 1000 & echo "$$ $!" >&2;'
const pids = (stderr: ReadonlyArray<string>) => (stderr[0] ?? "").split(" ").map(Number)

/** Opens all descriptors, then a child, twice; and once more when there are some again. */
const exhausting = `
  import { openSync, closeSync } from "node:fs"
  import { Effect } from "effect"
  import { McpStdio } from "${new URL("../../src/services/mcp-stdio.ts", import.meta.url)}"
  import { layer } from "${new URL("./layer.ts", import.meta.url)}"
  const command = { cmd: "/bin/sh", args: ["-c", "cat"], env: {}, inheritEnv: [], clearEnv: false }
  const events = { onMessage() {}, onOpen() {}, onEnd() {}, onDeath() {} }
  const open = ({ open }) => {
    const opened = open(command, { backend: "b", backendName: "b", target: "t", principal: "", network: "", most: 1, mostOfNetwork: 1 }, events)
    return "_tag" in opened ? opened.message : "started"
  }
  await Effect.runPromise(Effect.scoped(Effect.gen(function*() {
    const stdio = yield* McpStdio
    const held = []
    try {
      while (true) held.push(openSync("/dev/null"))
    } catch {}
    const found = [open(stdio)]
    // What the failed child says of itself comes later.
    yield* Effect.sleep(20)
    found.push(open(stdio))
    yield* Effect.sleep(20)
    for (const descriptor of held) closeSync(descriptor)
    found.push(open(stdio))
    console.log(JSON.stringify(found))
  }).pipe(Effect.provide(layer({ graceMillis: 50 })))))
`

describe("child processes", () => {
  it("speak in lines, in both directions", async () => {
    const { open, close } = await start()
    const { transport, messages, ends } = open(shell("cat"))
    transport.send(message('{"a":1}', 1, true))
    transport.send(message('{"b":"é"}', 2, false))
    await until("both lines", () => messages.length === 2)
    assert.deepStrictEqual(messages, ['{"a":1}', '{"b":"é"}'])
    assert.deepStrictEqual(ends, [[2, undefined]], "a request ends with its answer, anything else when it is written")
    await close()
  })

  it("are asked to end by the end of their input, and take their children with them", async () => {
    const { open, stderr, close } = await start({ graceMillis: 5_000 })
    const { transport, deaths } = open(shell(`${family} cat`))
    await until("the pids", () => stderr.length > 0)
    const [child, grandchild] = pids(stderr)
    assert.isTrue(alive(grandchild!))
    transport.close(undefined)
    await until("both gone", () => !alive(child!) && !alive(grandchild!))
    assert.deepStrictEqual(deaths, [], "an end that was asked for is no death")
    await close()
  })

  it("that ignore everything are killed, with their children", async () => {
    const { open, stderr, close } = await start()
    const { transport } = open(shell(`trap '' TERM HUP; ${family} while :; do sleep 1; done`))
    await until("the pids", () => stderr.length > 0)
    transport.close(undefined)
    await until("both gone", () => pids(stderr).every((pid) => !alive(pid)))
    await close()
  })

  it("that die leave no children, and their transport says so once, after the last line", async () => {
    const { open, stderr, close } = await start()
    const { messages, deaths, transport, ends } = open(shell(`${family} echo last; exit 3`))
    await until("the death", () => deaths.length > 0)
    assert.deepStrictEqual(messages, ["last"])
    assert.deepStrictEqual(deaths, [{ _tag: "TargetBroken", status: 500, message: "upstream closed on receive" }])
    await until("the grandchild's end", () => !alive(pids(stderr)[1]!))
    transport.send(message("{}", 9, true))
    assert.strictEqual(ends[0]?.[1]?._tag, "TargetBroken")
    await close()
  })

  it("that cannot be started are reported, without their command", async () => {
    const { open, close } = await start()
    const { deaths } = open({ cmd: "/no/such/program", args: [], env: {}, inheritEnv: [], clearEnv: false })
    await until("the death", () => deaths.length > 0)
    assert.deepStrictEqual(deaths, [
      { _tag: "TargetNotStarted", status: 500, message: "stdio target could not be started: ENOENT" }
    ])
    await close()
  })

  it("that the system refuses at once are reported so, and are not counted", async () => {
    const { open, close } = await start({ most: 1 })
    const refused = { _tag: "TargetNotStarted", status: 500 } as const
    for (let i = 0; i < 2; i++) assert.include(open(shell("cat", { args: ["\0"] })).refusal, refused)
    const { transport, messages } = open(shell("cat"))
    transport.send(message('{"a":1}', 1, true))
    await until("the echo", () => messages.length > 0)
    await close()
  })

  it("that no file descriptor is left for are reported so, and are not counted", async () => {
    const [line] = await once(
      spawn("/bin/sh", ["-c", `ulimit -n 64; exec "$0" --input-type=module -e "$1"`, process.execPath, exhausting], {
        stdio: ["ignore", "pipe", "inherit"]
      }).stdout,
      "data"
    )
    assert.deepStrictEqual(JSON.parse(String(line)), [
      "stdio target could not be started: EMFILE",
      "stdio target could not be started: EMFILE",
      "started"
    ])
  })

  it("whose last words lack the end of a line are heard", async () => {
    const { open, stderr, close } = await start()
    open(shell("printf last >&2"))
    await until("the words", () => stderr.length > 0)
    assert.deepStrictEqual(stderr, ["last"])
    await close()
  })

  it("let go of what a grandchild outside of the group holds", async () => {
    const { open, stderr, close } = await start()
    const { transport, deaths } = open(shell(`setsid sh -c 'echo $$ >&2; sleep 1; echo late >&2' & read line; exit 0`))
    await until("its first word", () => stderr.length > 0)
    transport.send(message("go", 1, false))
    await until("the death", () => deaths.length > 0)
    const [pid] = stderr.map(Number)
    await until("the end", () => !alive(pid!))
    assert.strictEqual(stderr.length, 1)
    await close()
  })

  it("with a line over the limit are given up", async () => {
    const { open, stderr, close } = await start({ lineBytes: 1000 })
    const { deaths } = open(shell(`${family} head -c 5000 /dev/zero | tr '\\0' x; cat`))
    await until("the death", () => deaths.length > 0)
    assert.strictEqual(deaths[0]?.message, "upstream sent a line over the limit")
    await until("all gone", () => pids(stderr).every((pid) => !alive(pid)))
    await close()
  })

  it("that do not read their input are not written to without end", async () => {
    const { open, close } = await start({ queuedBytes: 100_000 })
    const { transport, ends } = open(shell("sleep 1000"))
    for (let stream = 1; stream < 10; stream++) transport.send(message("x".repeat(100_000), stream, true))
    assert.strictEqual(ends.at(-1)?.[1]?._tag, "TargetBusy")
    await close()
  })

  it("have what any program needs and what is configured, and nothing else of the gateway's environment", async () => {
    process.env["SESSION_KEY"] = "secret"
    process.env["OPENAI_API_KEY"] = "secret"
    process.env["HTTPS_PROXY"] = "http://proxy"
    const { open, close } = await start()
    const show = 'echo "$SESSION_KEY|$OPENAI_API_KEY|$HTTPS_PROXY|$OWN|$HOME"'
    const table = [
      [shell(show, { env: { OWN: "1" } }), `|||1|${process.env["HOME"]}`],
      [shell(show, { inheritEnv: ["HTTPS_PROXY", "ABSENT"] }), `||http://proxy||${process.env["HOME"]}`],
      [shell(show, { env: { OWN: "1" }, inheritEnv: ["HTTPS_PROXY"], clearEnv: true }), "|||1|"],
      [shell(show, { env: { SESSION_KEY: "named" } }), `named||||${process.env["HOME"]}`]
    ] as const
    for (const [command, expected] of table) {
      const { messages } = open(command)
      await until("the line", () => messages.length > 0)
      assert.strictEqual(messages[0], expected)
    }
    delete process.env["SESSION_KEY"]
    delete process.env["OPENAI_API_KEY"]
    delete process.env["HTTPS_PROXY"]
    await close()
  })

  it("are counted per backend, and per principal or network, and no more once they are gone", async () => {
    const { open, close } = await start({ most: 5, perPrincipal: 1 })
    const first = open(shell("cat"), "alice")
    assert.strictEqual(
      open(shell("cat"), "alice").refusal.message,
      "too many stdio processes of this principal (at most 1)"
    )
    assert.isUndefined(open(shell("cat"), "alice", "other").refusal._tag)
    assert.isUndefined(open(shell("cat"), "bob").refusal._tag)
    assert.isUndefined(open(shell("cat")).refusal._tag)
    assert.isUndefined(open(shell("cat")).refusal._tag)
    assert.deepStrictEqual(open(shell("cat")).refusal, {
      _tag: "TargetBusy",
      status: 503,
      message: "too many stdio processes of this address (maxSessionsPerAddress allows 2)"
    })
    assert.isUndefined(open(shell("cat"), "", "b", "192.0.2.2").refusal._tag)
    assert.deepStrictEqual(open(shell("cat"), "carol").refusal, {
      _tag: "TargetBusy",
      status: 503,
      message: "too many stdio processes of this backend (maxChildren: 5)"
    })
    first.transport.close(undefined)
    let again: unknown = "TargetBusy"
    await until("room for alice", () => {
      again = open(shell("cat"), "alice").refusal._tag
      return again === undefined
    })
    await close()
  })

  it("end with the scope", async () => {
    const { open, stderr, close } = await start()
    open(shell(`trap '' TERM; ${family} while :; do sleep 1; done`))
    await until("the pids", () => stderr.length > 0)
    await close()
    await until("both gone", () => pids(stderr).every((pid) => !alive(pid)))
  })
})

describe("the end of the gateway itself", () => {
  const script = `
    import { Effect, Layer } from "effect"
    import { McpStdio } from "${new URL("../../src/services/mcp-stdio.ts", import.meta.url)}"
    import { layer } from "${new URL("./layer.ts", import.meta.url)}"
    const stdio = layer({ log: (_, line) => console.log(line) })
    const command = { cmd: "/bin/sh", args: ["-c", ${JSON.stringify(`trap '' TERM; ${family} while :; do sleep 1; done`)}], env: {}, inheritEnv: [], clearEnv: false }
    const events = { onMessage() {}, onOpen() {}, onEnd() {}, onDeath() {} }
    Effect.runFork(Effect.scoped(Effect.gen(function*() {
      const { open } = yield* McpStdio
      open(command, { backend: "b", target: "t", principal: "", network: "", most: 1, mostOfNetwork: 1 }, events)
      yield* Effect.never
    }).pipe(Effect.provide(stdio))))
    process.on("message", (how) => {
      if (how === "exit") process.exit(0)
      throw new Error("a bug")
    })
  `
  const begin = async (): Promise<readonly [gateway: ChildProcess, pids: ReadonlyArray<number>]> => {
    const gateway = spawn(process.execPath, ["--input-type=module", "-e", script], {
      stdio: ["ignore", "pipe", "ignore", "ipc"]
    })
    const [line] = (await once(gateway.stdout!, "data")) as [Buffer]
    return [gateway, line.toString().trim().split(" ").map(Number)]
  }
  for (const [name, end] of [
    ["process.exit", (gateway: ChildProcess) => gateway.send("exit")],
    ["a crash", (gateway: ChildProcess) => gateway.send("throw")],
    ["SIGKILL", (gateway: ChildProcess) => gateway.kill("SIGKILL")]
  ] as const)
    it(`by ${name} leaves no child and no grandchild`, async () => {
      const [gateway, family] = await begin()
      assert.strictEqual(family.length, 2)
      assert.isTrue(family.every(alive))
      end(gateway)
      await once(gateway, "exit")
      await until("all gone", () => !family.some(alive))
    })
})
