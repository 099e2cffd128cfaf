/**
 * The package as its users have it: built, packed, and installed in an empty folder, where nothing of the repository can be
 * reached. Its programs run there, and so does somebody else's package that knows nothing but the exports.
 */
import { spawn, spawnSync } from "node:child_process"
import { createHash } from "node:crypto"
import { once } from "node:events"
import {
  closeSync,
  copyFileSync,
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync
} from "node:fs"
import { tmpdir } from "node:os"
import { basename, join, relative, resolve } from "node:path"
import { createInterface } from "node:readline"
import { fileURLToPath, pathToFileURL } from "node:url"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import type { Component } from "../../../build/sbom.ts"
import { billProblems } from "../../cyclonedx.ts"
import { freePorts } from "../../free-ports.ts"
import { nowhere } from "../../origin.ts"
import { packed, patience } from "../../packed.ts"
import { until } from "../../program.ts"

const root = resolve(import.meta.dirname, "..", "..", "..")
const home = mkdtempSync(join(tmpdir(), "headgate-outside-"))
/** Has the package alone. */
const bare = join(home, "bare")
/** Has `effect` and the types of node as well. */
const whole = join(home, "whole")
/** Has an older `effect` than the exports need. */
const foreign = join(home, "foreign")
const compiler = join(root, "node_modules", "typescript", "bin", "tsc")

const spawned = (command: string, args: ReadonlyArray<string>, cwd: string) => {
  const { status, stdout, stderr } = spawnSync(command, args, {
    cwd,
    encoding: "utf8",
    env: { ...process.env, XDG_CACHE_HOME: join(home, "cache") }
  })
  return { status, said: `${stdout}${stderr}`.trim() }
}

const run = (cwd: string, ...args: ReadonlyArray<string>) => spawned(process.execPath, args, cwd)

/** As npm runs a command of an installed package, without the words of npm itself. */
const program = (cwd: string, name: string, ...args: ReadonlyArray<string>) =>
  spawned(join(cwd, "node_modules", ".bin", name), args, cwd)

const must = ({ status, said }: ReturnType<typeof spawned>): string => {
  if (status !== 0) throw new Error(said)
  return said
}

let tarball: string

beforeAll(async () => {
  tarball = await packed()
  const { devDependencies, dependencies } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"))
  const beside = new Map([
    [bare, []],
    [whole, [`effect@${dependencies.effect}`, `@types/node@${devDependencies["@types/node"]}`]],
    [foreign, ["effect@3.19.0"]]
  ])
  for (const [folder, others] of beside) {
    mkdirSync(folder)
    writeFileSync(join(folder, "package.json"), '{ "name": "tenants", "private": true, "type": "module" }')
    must(spawned("npm", ["install", "--legacy-peer-deps", "--no-audit", "--no-fund", tarball, ...others], folder))
  }
  for (const file of globSync("*.ts", { cwd: import.meta.dirname }).filter((name) => !name.endsWith(".test.ts")))
    copyFileSync(join(import.meta.dirname, file), join(whole, file))
}, patience)

afterAll(() => rmSync(home, { recursive: true, force: true }))

const files = (folder: string) =>
  readdirSync(folder, { recursive: true, withFileTypes: true }).filter((e) => e.isFile())
const megabytes = (folder: string) =>
  files(folder).reduce((sum, { parentPath, name }) => sum + readFileSync(join(parentPath, name)).length, 0) / 1e6

describe("the package that is installed", () => {
  it("is small, and has nothing that belongs to the repository", () => {
    const own = join(bare, "node_modules", "headgate")
    assert.deepStrictEqual(
      readdirSync(join(bare, "node_modules")).filter((name) => !name.startsWith(".")),
      ["headgate"]
    )
    assert.isAtMost(files(own).length, 300)
    assert.isAtMost(megabytes(own), 25)
    assert.isAtMost(megabytes(join(whole, "node_modules", "effect")) + megabytes(own), 90)
    const foreign = files(own).filter(({ name }) => /\.test\.|\.pem$|\.key$|(?<!\.d)\.ts$/.test(name))
    assert.deepStrictEqual(
      foreign.map(({ name }) => name),
      []
    )
    const text = files(own).map(({ parentPath, name }) => readFileSync(join(parentPath, name), "utf8"))
    assert.isFalse(
      text.some((each) => each.includes(root)),
      "a path of the machine that built it"
    )
  })

  it("has the pages that its pages lead to", () => {
    const own = join(bare, "node_modules", "headgate")
    const missing = files(own)
      .filter(({ name }) => name.endsWith(".md"))
      .flatMap(({ parentPath, name }) =>
        [...readFileSync(join(parentPath, name), "utf8").matchAll(/\]\(([\w./-]+)(?:#[^)]*)?\)/g)]
          .filter(([, link]) => !existsSync(join(parentPath, link!)))
          .map(([, link]) => `${name}: ${link}`)
      )
    assert.deepStrictEqual(missing, [])
  })

  it("runs its programs", () => {
    const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"))
    assert.deepStrictEqual(program(bare, "headgatectl", "version"), { status: 0, said: version })
    const built = JSON.parse(must(program(bare, "headgate", "--version")))
    assert.strictEqual(built.build_profile, "release")
    assert.match(built.git_revision, /^[0-9a-f]{40}$/)
    // Long enough for the thread that checks beside the one that serves.
    const routes = Array.from(
      { length: 200 },
      (_, i) =>
        `  - name: r${i}\n    matches: [{ path: { exact: /${i} } }]\n    policies: { directResponse: { status: 204 } }`
    )
    const file = join(bare, "config.yaml")
    writeFileSync(file, `gateways: { default: { port: 8080 } }\nroutes:\n${routes.join("\n")}\n`)
    assert.deepStrictEqual(program(bare, "headgatectl", "validate", file), {
      status: 0,
      said: "Configuration is valid!"
    })
    assert.deepStrictEqual(program(bare, "headgate", "--validate-only", "-f", file), {
      status: 0,
      said: "Configuration is valid!"
    })
    assert.match(must(program(bare, "headgatectl", "graph", "--file", file)), /r199/)
    assert.match(must(program(bare, "headgatectl", "cel", "eval", "1 + 1")), /2/)
  })

  it("runs the proxy, whose log goes into a file by a thread of its own", async () => {
    const port = await Effect.runPromise(nowhere)
    const log = join(bare, "log")
    const stdout = openSync(log, "a")
    const route = "routes: [{ policies: { directResponse: { status: 204 } } }]"
    const configuration = `config: { adminAddr: off, statsAddr: off, readinessAddr: off }\ngateways: { default: { port: ${port} } }\n${route}\n`
    const child = spawn(join(bare, "node_modules", ".bin", "headgate"), ["-c", configuration], {
      stdio: ["ignore", stdout, "inherit"],
      env: { ...process.env, XDG_CACHE_HOME: join(home, "cache") }
    })
    closeSync(stdout)
    const ended = once(child, "exit")
    const asked = () =>
      fetch(`http://127.0.0.1:${port}/hello`).then(
        ({ status }) => status === 204,
        () => false
      )
    await until("the proxy answers", asked)
    await until("the request is logged", () => readFileSync(log, "utf8").includes("http.path=/hello"))
    const threads = `/proc/${child.pid}/task`
    const names = readdirSync(threads).map((id) => readFileSync(join(threads, id, "comm"), "utf8").trim())
    assert.include(names, "log")
    child.kill("SIGTERM")
    assert.deepStrictEqual(await ended, [0, null])
    assert.match(readFileSync(log, "utf8"), /\tshutting down\n$/)
  })

  it("serves one thing without a file, and writes the file", async () => {
    const made = join(bare, "made.yaml")
    must(program(bare, "headgate", "init", "llm", "mock", "--port", "18753", "--file", made))
    assert.deepStrictEqual(program(bare, "headgatectl", "validate", "--strict", made), {
      status: 0,
      said: "Configuration is valid!"
    })
    const child = spawn(join(bare, "node_modules", ".bin", "headgate"), ["llm", "mock", "--port", "18753"], {
      cwd: bare
    })
    const closed = once(child, "close")
    try {
      for await (const text of child.stdout) if (String(text).includes("loaded config from headgate llm")) break
      const answer = await fetch("http://localhost:18753/v1/chat/completions", {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: '{"model":"demo","messages":[{"role":"user","content":"Hello"}]}'
      })
      assert.strictEqual(answer.status, 200)
    } finally {
      child.kill("SIGTERM")
      await closed
    }
  })

  it("says what its exports need, when it is not there or another version", () => {
    const said = (folder: string) => run(folder, "--input-type=module", "-e", 'await import("headgate/policy")').said
    assert.match(said(bare), /Error: The exports of headgate need effect 4\.1: .*None was found/)
    assert.match(said(foreign), /Error: The exports of headgate need effect 4\.1: .*Found: effect 3\.19\.0/)
  })

  it("says so when a policy is made with another copy of effect than its own", () => {
    const own = join(whole, "node_modules", "headgate", "node_modules", "effect")
    cpSync(join(whole, "node_modules", "effect"), own, { recursive: true })
    const { said } = run(whole, "tenant.ts")
    rmSync(own, { recursive: true })
    assert.match(said, /TypeError: the schema of policy tenant was made by another copy of effect than headgate uses/)
  })

  it("has a JSON Schema for editors", () => {
    const script = 'import schema from "headgate/config.schema.json" with { type: "json" }; console.log(schema.$id)'
    assert.match(run(bare, "--input-type=module", "-e", script).said, /config\.schema\.json$/)
  })
})

/** What a program writes first when it is told which files it loads: their names, and what of the runtime it takes along. */
const loaded = async (program: "headgate" | "headgatectl", ...args: ReadonlyArray<string>) => {
  const told = join(home, "loaded.mjs")
  const list = join(home, "loaded.txt")
  writeFileSync(
    told,
    `import { registerHooks } from "node:module"
import { writeFileSync } from "node:fs"
const urls = []
registerHooks({ load: (url, context, next) => (urls.push(url), next(url, context)) })
const tell = () => writeFileSync(${JSON.stringify(list)}, JSON.stringify({ urls, own: process.moduleLoadList }))
process.on("exit", tell)
`
  )
  rmSync(list, { force: true })
  const launcher = join(bare, "node_modules", "headgate", "bin", `${program}.mjs`)
  const child = spawn(process.execPath, ["--import", told, launcher, ...args], {
    cwd: bare,
    env: { PATH: process.env["PATH"] },
    stdio: ["ignore", "pipe", "inherit"]
  })
  const ended = once(child, "exit")
  for await (const line of createInterface({ input: child.stdout }))
    if (line.includes("loaded config from")) child.kill()
  await ended
  const { urls, own } = JSON.parse(readFileSync(list, "utf8")) as Readonly<Record<"urls" | "own", Array<string>>>
  const files = urls.filter((url) => url.includes("/headgate/programs/")).map((url) => fileURLToPath(url))
  return {
    files: files.map((file) => basename(file)),
    // Tables have no map, nor has what the bundler adds.
    sources: files.flatMap((file): Array<string> => {
      const map = `${file}.map`
      return existsSync(map) ? JSON.parse(readFileSync(map, "utf8")).sources : [basename(file)]
    }),
    own
  }
}

describe("the package that is built", () => {
  it("is the same when it is built in another folder", () => {
    const other = join(home, "other")
    const listed = must(spawned("git", ["ls-files", "--cached", "--others", "--exclude-standard"], root))
    for (const file of listed.split("\n"))
      if (existsSync(join(root, file))) cpSync(join(root, file), join(other, file), { recursive: true })
    // Linked file by file, as the bundler goes to where a linked folder leads.
    mkdirSync(join(other, "node_modules"))
    // Those that begin with a dot are the test runner's, which writes there meanwhile.
    const modules = globSync("node_modules/[!.]*", { cwd: root })
    must(spawned("cp", ["-al", ...modules, join(other, "node_modules")], root))
    const env = { ...process.env, HEADGATE_GIT_REVISION: must(spawned("git", ["rev-parse", "HEAD"], root)) }
    const { status, stderr } = spawnSync(process.execPath, ["build/main.ts"], { cwd: other, encoding: "utf8", env })
    assert.strictEqual(status, 0, stderr)
    const bytes = (dist: string) =>
      Object.fromEntries(
        files(dist).map(({ parentPath, name }) => [
          relative(dist, join(parentPath, name)),
          createHash("sha256")
            .update(readFileSync(join(parentPath, name)))
            .digest("hex")
        ])
      )
    assert.deepStrictEqual(bytes(join(other, "dist")), bytes(join(root, "dist")))
    const again = join(home, "again")
    mkdirSync(again)
    must(spawned("npm", ["pack", join(other, "dist"), "--pack-destination", again], home))
    assert.isTrue(readFileSync(join(again, readdirSync(again)[0]!)).equals(readFileSync(tarball)))
  }, 300_000)

  it("says what it is made of, as CycloneDX wants it", () => {
    const bill = JSON.parse(readFileSync(join(bare, "node_modules", "headgate", "sbom.cdx.json"), "utf8"))
    assert.deepStrictEqual(billProblems(bill), [])
    assert.isNotEmpty(billProblems({ ...bill, components: [{ name: "nothing" }] }), "the schema refuses nothing")
    const notices = readFileSync(join(bare, "node_modules", "headgate", "THIRD-PARTY-NOTICES.txt"), "utf8")
    const components: ReadonlyArray<Component> = bill.components
    const nameOf = ({ group, name }: Component) => (group === undefined ? name : `${group}/${name}`)
    const named = components.map((each) => `${nameOf(each)} ${each.version} (${each.licenses?.[0]?.license.id})`)
    assert.isAbove(named.length, 15)
    assert.deepStrictEqual(
      [...notices.matchAll(/^-{80}\n\n(.*)$/gm)].map(([, head]) => head),
      named
    )
    // What the sources of the bundles say for themselves.
    const maps = files(join(bare, "node_modules", "headgate")).filter(({ name }) => name.endsWith(".map"))
    const bundled = maps.flatMap(
      ({ parentPath, name }): ReadonlyArray<string> =>
        JSON.parse(readFileSync(join(parentPath, name), "utf8")).sources.flatMap(
          (source: string) => /.*node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(source)?.[1] ?? []
        )
    )
    const names = new Set(components.map(nameOf))
    assert.deepStrictEqual(
      [...new Set(bundled)].filter((name) => !names.has(name)),
      []
    )
  })
})

describe("a program of the package", () => {
  const small = async (managed: "managed" | "unmanaged" = "unmanaged") => {
    const [port, ...others] = await freePorts(4)
    const [admin, stats, readiness] = others.map((each) => (managed === "managed" ? `localhost:${each}` : "off"))
    const file = join(bare, "small.yaml")
    writeFileSync(
      file,
      `config: { adminAddr: "${admin}", statsAddr: "${stats}", readinessAddr: "${readiness}" }
gateways: { default: { port: ${port} } }
routes: [{ policies: { directResponse: { status: 200, body: hello } } }]
`
    )
    return file
  }
  /** What takes long to load, and a small file of HTTP routes has no use for. */
  const heavy =
    /k_base|gpt-tokenizer|@opentelemetry|layers\/otlp|undici|node_modules\/ws\/|HttpRouter|layers\/http-router|admin\/admin\.ts|backend-llm\/(?:router|providers)|backend-mcp\/servers/

  it("loads nothing for its version", async () => {
    const { files, own } = await loaded("headgatectl", "version")
    assert.deepStrictEqual(
      files.map((name) => name.replace(/-[^-]*\.mjs$/, "")),
      ["headgatectl.mjs", "version"]
    )
    assert.notInclude(own, "NativeModule child_process")
  })

  it.each([
    ["headgatectl", ["validate"], "managed"],
    ["headgate", ["-f"], "unmanaged"],
    ["headgate", ["-f"], "managed"]
  ] as const)("loads what a small file needs alone: %s %j, %s", async (program, args, managed) => {
    const { files, sources, own } = await loaded(program, ...args, await small(managed))
    assert.include(sources, "src/main/configuration/distribution.ts")
    assert.deepStrictEqual(
      sources.filter((source) => heavy.test(source)),
      []
    )
    // The `fetch` of the runtime, which comes with every import of its HTTP modules.
    assert.notInclude(own, "NativeModule internal/deps/undici/undici")
    assert.isAtMost(files.length, 30)
    // The proxy loads these once everything listens.
    if (program === "headgatectl")
      for (const name of ["crypto", "tls", "readline", "internal/child_process"])
        assert.notInclude(own, `NativeModule ${name}`)
  })

  it("has its admin interface although the code of it could not be read at first", async () => {
    const file = await small("managed")
    const programs = join(bare, "node_modules", "headgate", "programs")
    const [code] = globSync("http-router-*.mjs", { cwd: programs })
    const child = spawn(process.execPath, [join(bare, "node_modules", "headgate", "bin", "headgate.mjs"), "-f", file], {
      env: { ...process.env, XDG_CACHE_HOME: join(home, "cache") },
      stdio: ["ignore", "pipe", "inherit"]
    })
    const ended = once(child, "exit")
    try {
      let said = ""
      child.stdout.on("data", (data) => {
        said += data
      })
      await until("it serves", () => said.includes("Watching config file"))
      const address = `${/http:\/\/localhost:\d+/.exec(said)?.[0]}/config_dump`
      const away = join(home, "away.mjs")
      renameSync(join(programs, code!), away)
      assert.isUndefined((await fetch(address).catch(() => undefined))?.status)
      renameSync(away, join(programs, code!))
      assert.strictEqual((await fetch(address)).status, 200)
      await until("the failure is told", () => /\terror\tmanagement\t/.test(said))
    } finally {
      child.kill()
      await ended
    }
  })

  it("makes nothing for pages of help that it does not show", async () => {
    const traps = join(home, "traps.mjs")
    writeFileSync(traps, 'Intl.Segmenter = function () { throw new Error("made too early") }')
    const launcher = join(bare, "node_modules", "headgate", "bin", "headgatectl.mjs")
    const { status, said } = run(bare, "--import", pathToFileURL(traps).href, launcher, "validate", await small())
    assert.deepStrictEqual({ status, said }, { status: 0, said: "Configuration is valid!" })
  })

  it("keeps its compiled code once it serves, and says nothing where it cannot", async () => {
    const file = await small()
    const start = async (env: Readonly<Record<string, string>>) => {
      const launcher = join(bare, "node_modules", "headgate", "bin", "headgate.mjs")
      const child = spawn(process.execPath, [launcher, "-f", file], {
        env: { PATH: process.env["PATH"], ...env },
        stdio: ["ignore", "pipe", "pipe"]
      })
      const said: Array<string> = []
      child.stderr.on("data", (data) => said.push(String(data)))
      const ended = once(child, "exit")
      for await (const line of createInterface({ input: child.stdout })) {
        // Nothing can be written after this, and before it the program has started.
        if (line.includes("Watching config file")) child.kill("SIGKILL")
        else if (!line.includes("\tinfo\t")) said.push(line)
      }
      const [, signal] = await ended
      return { signal, said }
    }
    const served = { signal: "SIGKILL", said: [] }
    const cache = join(home, "code cache")
    assert.deepStrictEqual(await start({ HOME: join(home, "no such home"), XDG_CACHE_HOME: cache }), served)
    assert.isAbove(files(join(cache, "headgate", "code")).length, 5)
    for (const env of [{}, { HOME: "" }, { HOME: join(file, "below a file") }, { HOME: "/proc/nobody" }])
      assert.deepStrictEqual(await start(env), served)
  })
})

describe("somebody else's package", () => {
  it("compiles with strict, nodenext and no other flag, the types of the exports included", () => {
    const file = join(whole, "strict")
    mkdirSync(file)
    writeFileSync(
      join(file, "main.ts"),
      `import { Effect } from "effect"
import { makeHeadgate, open, type Headgate } from "headgate"
import { next, object, policies, policy } from "headgate/policy"
import { policyLaws } from "headgate/testing"
import { watching } from "headgate/trace"

export const nothing = policy({
  name: "nothing",
  traceKey: "nothing",
  schema: object("Nothing", "Does nothing.", {}),
  sites: ["route"],
  responds: [],
  reads: [],
  writes: [],
  outcomes: ["next"],
  maturity: { status: "alpha", untrusted: "none" },
  compile: (_) => Effect.succeed([{ name: "nothing", phase: "request", run: () => next }])
})
export const laws = policyLaws(nothing)
export const headgate = makeHeadgate({ registry: policies })
export const port = async (gateway: Headgate): Promise<number | undefined> => gateway.port(8080)
export const events = async () => watching(await open("routes: []"))
`
    )
    copyFileSync(join(import.meta.dirname, "entitlement.ts"), join(file, "entitlement.ts"))
    writeFileSync(join(file, "tsconfig.json"), '{ "compilerOptions": { "strict": true, "module": "nodenext" } }')
    assert.deepStrictEqual(run(file, compiler, "--noEmit", "-p", "."), { status: 0, said: "" })
  })

  it("type-checks against the exports, and is refused what it must not do", () => {
    copyFileSync(join(import.meta.dirname, "typescript.json"), join(whole, "tsconfig.json"))
    assert.deepStrictEqual(run(whole, compiler, "-p", "."), { status: 0, said: "" })
  })

  it("runs the proxy with a policy of its own, reloads it, and reads its traces", () => {
    assert.deepStrictEqual(run(whole, "run.ts"), { status: 0, said: "the gateway ran" })
  })

  it("checks its policy by the laws, and a route in memory", () => {
    const { status, said } = run(whole, "properties.ts")
    assert.match(said, /^[0-9]+ laws hold$/)
    assert.strictEqual(status, 0)
  })

  it.each([
    [
      "CaseFailed",
      `import { Effect } from "effect"
import { readCase, runWholeCase } from "headgate/testing"
const configuration = JSON.stringify("gateways: { default: { port: 1 } }\\nroutes: [{ policies: { directResponse: { status: 200 } } }]")
await Effect.runPromise(runWholeCase(readCase("shows: an answer\\nrequest: { path: / }\\nexpect: { status: 404 }\\nconfiguration: " + configuration)))`,
      /^CaseFailed: an answer: .*404/m
    ],
    [
      "InvalidConfiguration",
      `import { open } from "headgate"
await open("gateways: { default: { prot: 3000 } }")`,
      /^InvalidConfiguration: <inline>:1:24: gateways\.default\.prot: /m
    ]
  ])("prints no more than it takes of an error that nobody caught: %s", (name, code, told) => {
    writeFileSync(join(whole, `${name}.mjs`), code)
    const { status, said } = run(whole, `${name}.mjs`)
    assert.strictEqual(status, 1)
    assert.match(said, told)
    for (const line of said.split("\n")) assert.isAtMost(line.length, 250, line)
  })
})
