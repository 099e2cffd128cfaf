/** `headgate llm`, `mcp`, `http` and `init`: what each serves, the file that it prints, and that both are the same. */
import { spawn } from "node:child_process"
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs"
import { createServer } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, assert, describe, it } from "@effect/vitest"
import { Arbitrary, Effect, Redacted, Schema } from "effect"
import OpenAI from "openai"
import { format } from "../spec/config/format.ts"
import { formatText } from "../spec/config/problem.ts"
import { shapeOf } from "../spec/config/shape.ts"
import { check, language } from "../src/check/check.ts"
import { httpStarter } from "../src/main/commands/http.ts"
import { llmStarter } from "../src/main/commands/llm.ts"
import { mcpStarter } from "../src/main/commands/mcp.ts"
import { commandLine, management, type Starter, starterText } from "../src/main/commands/starter.ts"
import { findings } from "../src/main/configuration/findings.ts"
import { providerNames } from "../src/main/configuration/providers.ts"
import { Unable } from "../src/main/ctl/failure.ts"
import { nowhere, origin } from "./origin.ts"
import { connect2 } from "./outside/mcp/clients.ts"
import { startEverything } from "./outside/mcp/everything.ts"
import { type Program, root, startProgram } from "./program.ts"
import { commanded } from "./tool.ts"

const folder = mkdtempSync(join(tmpdir(), "headgate-one-liners-"))
afterAll(() => rmSync(folder, { recursive: true }))

const launcher = join(root, "bin/headgate.mjs")
const elsewhere = { ADMIN_ADDR: "127.0.0.1:0", STATS_ADDR: "127.0.0.1:0", READINESS_ADDR: "127.0.0.1:0" }

interface Ended {
  readonly code: number
  readonly out: string
  readonly err: string
}

/** Runs the program until it ends, or until it serves, when it is interrupted. */
const run = (
  args: ReadonlyArray<string>,
  env: Readonly<Record<string, string>> = {},
  whileServing?: () => Promise<void>
): Promise<Ended> =>
  new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [launcher, ...args], {
      cwd: folder,
      env: { PATH: process.env["PATH"], HOME: folder, ...elsewhere, ...env }
    })
    let out = ""
    let err = ""
    let served = whileServing === undefined
    child.stderr.on("data", (text) => {
      err += text
    })
    child.stdout.on("data", (text) => {
      out += text
      if (served || !out.includes("component=admin")) return
      served = true
      whileServing!().then(
        () => child.kill("SIGTERM"),
        (error) => {
          child.kill("SIGKILL")
          reject(new Error(`${error}\n${out}\n${err}`, { cause: error }))
        }
      )
    })
    child.on("close", (code) => resolve({ code: code ?? -1, out, err }))
  })

/** Serves what the words say, and then the file that was printed; a client tells what it saw of each. */
const both = async (
  words: ReadonlyArray<string>,
  env: Readonly<Record<string, string>>,
  client: () => Promise<unknown>
): Promise<string> => {
  const seen: Array<unknown> = []
  const ask = async () => {
    seen.push(await client())
  }
  const first = await run(words, env, ask)
  assert.strictEqual(first.code, 0, first.err)
  const file = join(folder, `${seen.length}-${words[0]}.yaml`)
  // All that stands on standard error is a file.
  writeFileSync(file, first.err)
  const second = await run(["-f", file], env, ask)
  assert.strictEqual(second.code, 0, second.err)
  assert.deepStrictEqual(seen[0], seen[1])
  const { status, said } = await strictly(file, env)
  assert.deepStrictEqual({ status, said }, { status: 0, said: "Configuration is valid!\n" })
  return first.err
}

const strictly = async (file: string, env: Readonly<Record<string, string>>) => {
  const tool = startProgram(process.execPath, [join(root, "bin/headgatectl.mjs"), "validate", "--strict", file], env)
  return { status: await tool.ended, said: tool.printed() }
}

const free = () => Effect.runPromise(nowhere)
const post = (port: number) => new OpenAI({ baseURL: `http://localhost:${port}/v1`, apiKey: "none", maxRetries: 0 })

const chat = async (port: number) => {
  const { choices } = await post(port).chat.completions.create({
    model: "demo",
    messages: [{ role: "user", content: "Hello" }]
  })
  return choices[0]!.message
}

const tools = async (port: number) => {
  const client = await connect2(new URL(`http://localhost:${port}/mcp`))
  const listed = (await client.listTools()).tools.map(({ name }) => name)
  const called = await client.callTool("echo", { message: "hello" })
  await client.close()
  return { listed, called }
}

describe("one thing is served, and its file serves the same", () => {
  it("a made-up model, which says that it is one", async () => {
    const port = await free()
    const text = await both(["llm", "mock", "--port", String(port)], {}, () => chat(port))
    assert.match(
      text,
      /^# headgate llm mock --port \d+ serves this file\. To keep it: headgate init llm mock --port \d+\n/
    )
    assert.match(text, /provider: mock/)
  })

  it("the models of a provider, with the key that the environment has", async () => {
    const answer = JSON.stringify({
      id: "c",
      object: "chat.completion",
      created: 1,
      model: "demo",
      choices: [{ index: 0, message: { role: "assistant", content: "from the provider" }, finish_reason: "stop" }],
      usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 }
    })
    const body = Effect.gen(function* () {
      const provider = yield* origin({ headers: { "content-type": "application/json" }, body: answer })
      const port = yield* nowhere
      const words = ["llm", "openai", "--port", String(port), "--base-url", `http://${provider.address}/v1`]
      const env = { OPENAI_API_KEY: "sk-the-real-key" }
      const text = yield* Effect.promise(() => both(words, env, () => chat(port)))
      assert.notInclude(text, "sk-the-real-key")
      assert.include(text, "apiKey: $OPENAI_API_KEY")
      assert.deepStrictEqual(
        provider.received.map(({ headers }) => headers.authorization),
        ["Bearer sk-the-real-key", "Bearer sk-the-real-key"]
      )
    })
    await Effect.runPromise(Effect.scoped(body))
  })

  it("an MCP server that is started", async () => {
    const port = await free()
    const script = join(root, "node_modules/@modelcontextprotocol/server-everything/dist/index.js")
    const text = await both(["mcp", "--port", String(port), "--", process.execPath, script], {}, () => tools(port))
    assert.include(text, "stdio:")
  })

  it("an MCP server that is reached", async () => {
    const port = await free()
    const server = await startEverything()
    try {
      await both(["mcp", `http://localhost:${server.port}/mcp`, "--port", String(port)], {}, () => tools(port))
    } finally {
      await server.close()
    }
  })

  it("an HTTP server", async () => {
    const body = Effect.gen(function* () {
      const server = yield* origin((request) => ({ status: 201, body: `at ${request.path}` }))
      const port = yield* nowhere
      yield* Effect.promise(() =>
        both(["http", `:${port}`, "to", server.address], {}, async () => {
          const answer = await fetch(`http://localhost:${port}/here?a=1`)
          return [answer.status, await answer.text()]
        })
      )
      assert.strictEqual(server.received.length, 2)
    })
    await Effect.runPromise(Effect.scoped(body))
  })

  it("on this machine alone", async () => {
    const port = await free()
    let program: Program | undefined
    try {
      program = startProgram(process.execPath, [launcher, "llm", "mock", "--port", String(port)], elsewhere)
      await program.says(/component=admin/)
      const [, address = ""] = await program.says(/started bind .*address=(\S+)/)
      for (const each of address.split(",")) assert.match(each, /^(?:127\.0\.0\.1|\[::1\]):/)
    } finally {
      await program?.[Symbol.asyncDispose]()
    }
  })
})

describe("what cannot be served is told", () => {
  it("a port that somebody has", async () => {
    const server = createServer().listen(0, "127.0.0.1")
    await new Promise((resolve) => server.once("listening", resolve))
    const { port } = server.address() as { port: number }
    const { code, err } = await run(["llm", "mock", "--port", String(port)])
    server.close()
    assert.strictEqual(code, 1)
    assert.match(
      err,
      new RegExp(
        `\\nport ${port} is taken: another process listens on .*:${port}\\. Choose another port with --port ${port + 1}\\n$`
      )
    )
  })

  it("a word that is nearly a command", async () => {
    const { code, err } = await run(["lmm", "mock"])
    assert.strictEqual(code, 1)
    assert.match(err, /^lmm is no command, did you mean llm\?/)
  })

  const nobody = () => Effect.die("nothing is to be served")

  it.effect.each([
    [["llm", "anthropic"], /^ANTHROPIC_API_KEY is not set: export ANTHROPIC_API_KEY=…$/],
    [["llm"], /^Missing required argument: provider\n/],
    [["mcp"], /^one MCP server is served, a command behind -- or a URL/],
    [["mcp", "localhost:3000"], /^no http or https URL was named/],
    [["mcp", "http://ada:secret@localhost/mcp"], /^an address with a name and a password in it cannot be used$/],
    [["mcp", "http://localhost/mcp?key=a1b2c3d4e5f6"], /^the query of the address holds what looks like a credential/],
    [["mcp", "--", "npx", "x", "--api-key", "sk-a1b2c3d4e5f6"], /^argument 3 of the command looks like a credential/],
    [["mcp", "--env", "A=b", "--", "npx", "x"], /^--env takes the name of a variable/],
    [["mcp", "--env", "NOT_THERE", "--", "npx", "x"], /^NOT_THERE is not set: export NOT_THERE=…$/],
    [
      ["http", ":8080", "localhost:1"],
      /^what is served, and what stands behind it, are two addresses with "to" between/
    ],
    [["http", ":80801", "to", "localhost:1"], /^:80801 is no port of this machine/],
    [["http", ":8080", "to", "localhost"], /^localhost is no host with a port/],
    [["http", ":8080", "to", "https://a:1"], /^this build does not speak TLS with an HTTP server behind a route yet/]
  ] as const)("%j", ([words, told]) =>
    Effect.gen(function* () {
      const { code, err } = yield* commanded(nobody, ...words)
      assert.strictEqual(code, 1)
      assert.match(err.join("\n"), told)
      assert.notMatch(err.join("\n"), /secret|a1b2c3/)
    })
  )
})

describe("headgate init", () => {
  const made = join(folder, "made.yaml")
  const init = (...words: ReadonlyArray<string>) => commanded(() => Effect.die("init serves nothing"), "init", ...words)

  it.effect("writes a file, and none over another", () =>
    Effect.gen(function* () {
      const told = [`wrote ${made}; it is served with: headgate -f ${made}`]
      assert.deepStrictEqual(yield* init("llm", "mock", "--file", made), { code: 0, out: told, err: [] })
      const text = readFileSync(made, "utf8")
      const other = ["mcp", "http://localhost:1/mcp", "--file", made]
      const refused = { code: 1, out: [], err: [`${made} is there already: --force writes over it`] }
      assert.deepStrictEqual(yield* init(...other), refused)
      assert.strictEqual(readFileSync(made, "utf8"), text)
      assert.deepStrictEqual(yield* init(...other, "--force"), { code: 0, out: told, err: [] })
      assert.include(readFileSync(made, "utf8"), "http://localhost:1/mcp")
    })
  )

  it.effect("writes one whose key is not there yet, and says so", () =>
    Effect.gen(function* () {
      const file = join(folder, "later.yaml")
      const { code, out } = yield* init("llm", "groq", "--file", file)
      assert.strictEqual(code, 0)
      assert.strictEqual(out[1], "before that, GROQ_API_KEY is not set: export GROQ_API_KEY=…")
      assert.isAbove(statSync(file).size, 0)
    })
  )

  it.effect("writes none that cannot be served", () =>
    Effect.gen(function* () {
      const file = join(folder, "never.yaml")
      const { code, err } = yield* init("llm", "openai", "--base-url", "ftp://a", "--file", file)
      assert.strictEqual(code, 1)
      assert.match(err[0]!, /never\.yaml:\d+:\d+: llm\.models\[0\]\.params\.baseUrl: /)
      assert.isFalse(existsSync(file))
    })
  )

  it("by itself takes the provider whose key is there, else the one that needs none", async () => {
    const mock = await run(["init", "-f", "-"])
    assert.match(mock.out, /provider: mock\n$/)
    const groq = await run(["init", "-f", "-"], { GROQ_API_KEY: "k" })
    assert.match(groq.out, /provider: groq\n +params:\n +apiKey: \$GROQ_API_KEY\n$/)
  })
})

/** A file that is valid with nothing doubtful, in its canonical form. */
const isSound = (starter: Starter, env: Readonly<Record<string, string>>) =>
  Effect.gen(function* () {
    const text = starterText(starter)
    assert.deepStrictEqual(formatText(yield* findings({ name: "file", text, env })), "", text)
    // In its canonical form a tilde is no longer escaped.
    if (!text.includes("\\x7e")) assert.deepStrictEqual(format(text, shapeOf(language.schema.ast)), { ok: true, text })
    return text
  })

describe("the files", () => {
  it.effect.each(providerNames)("of %s are sound", (provider) =>
    Effect.gen(function* () {
      const { unset } = llmStarter({ provider, port: 4000 }, {})
      const env = Object.fromEntries(unset.map((name) => [name, "value"]))
      const starter = llmStarter({ provider, port: 4000 }, env)
      assert.deepStrictEqual(starter.unset, [])
      const text = yield* isSound(starter, env)
      for (const name of unset) assert.include(text, `$${name}`)
    })
  )

  it.effect("of an HTTP server are sound", () =>
    Effect.gen(function* () {
      for (const target of ["localhost:3000", ":3000", "3000", "http://10.0.0.1:80", "[::1]:80", "a-b.c:8080"]) {
        const starter = httpStarter([":8080", "to", target])
        assert.notInstanceOf(starter, Unable, target)
        yield* isSound(starter as Starter, {})
      }
    })
  )

  it("say which management servers do without their ports", () => {
    const starter = llmStarter({ provider: "mock", port: 4000 }, {})
    const text = starterText(starter, new Set(Object.keys(management) as ReadonlyArray<keyof typeof management>))
    const { config } = check({ name: "file", text, env: {} })
    const { adminAddr, statsAddr, readinessAddr } = config!.settings
    assert.deepStrictEqual([adminAddr, statsAddr, readinessAddr], ["off", "off", "off"])
  })

  it("hold the name of a variable where the shell put its value", () => {
    const env = { MY_TOKEN: "sk-a1b2c3d4e5f6" }
    const starter = mcpStarter(
      { command: ["serve", "--key", env.MY_TOKEN], port: 3000, inherited: [], sse: false },
      env
    )
    assert.notInstanceOf(starter, Unable)
    const text = starterText(starter as Starter)
    assert.notInclude(text, env.MY_TOKEN)
    assert.include(text, "- $MY_TOKEN\n")
    assert.strictEqual(commandLine((starter as Starter).words), `mcp -- serve --key "$MY_TOKEN"`)
  })

  const piece = Arbitrary.map(
    Arbitrary.schema(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 31 }))),
    (index) =>
      [
        "$",
        "~/",
        "$HOME",
        "$" + "{X}",
        "$$",
        "#",
        ": ",
        " ",
        "'",
        '"',
        "\\",
        "-",
        "\n",
        "é",
        "{",
        "]",
        "*",
        "&",
        "!",
        "%",
        "@",
        "`",
        "yes",
        "1",
        "null",
        "a",
        "b",
        "/",
        "=",
        "\t",
        ",",
        "~"
      ][index]!
  )
  const word = Arbitrary.map(Arbitrary.array(piece, { maxLength: 6 }), (pieces) => pieces.join(""))

  it.effect.prop(
    "hand the words of a command on as they were typed, to the server and to a shell",
    [Arbitrary.array(word, { maxLength: 4 })],
    ([args]) =>
      Effect.gen(function* () {
        const starter = mcpStarter({ command: ["serve", ...args], port: 3000, inherited: [], sse: false }, {})
        assert.notInstanceOf(starter, Unable)
        const text = yield* isSound(starter as Starter, {})
        const { config } = check({ name: "file", text, env: { HOME: "/home" }, home: "/home" })
        const [backend] = Object.values(config!.backends)
        const { targets } = backend!.destination.config as {
          readonly targets: ReadonlyArray<{ readonly stdio: { readonly args: ReadonlyArray<Redacted.Redacted> } }>
        }
        assert.deepStrictEqual(targets[0]!.stdio.args.map(Redacted.value), args)
      })
  )
})
