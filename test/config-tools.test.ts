/** The tools for a configuration file, and what a running proxy says of its own: one schema, and the same problems everywhere. */
import {
  chmodSync,
  closeSync,
  lstatSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync
} from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, assert, describe, it } from "@effect/vitest"
import { Ajv2020 } from "ajv/dist/2020.js"
import { Effect } from "effect"
import { parse } from "yaml"
import { formatProblems, type Problem, problemFormats } from "../spec/config/problem.ts"
import { start } from "../src/main/library.ts"
import { send } from "./client.ts"
import { nowhere } from "./origin.ts"
import { root } from "./program.ts"
import { ctl } from "./tool.ts"

const folder = mkdtempSync(join(tmpdir(), "headgate-tools-"))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
const fileOf = (name: string, text: string): string => {
  const file = join(folder, name)
  writeFileSync(file, text)
  return file
}

const direct = `gateways: { default: { port: 8080 } }
routes: [{ name: hello, policies: { directResponse: { status: 200, body: hello } } }]
`

describe("the JSON Schema", () => {
  it.live("is one and the same from the tool, from the proxy and in the package", () =>
    Effect.gen(function* () {
      const { gateway } = yield* opened(direct)
      const exported = JSON.parse(readFileSync(join(root, "package.json"), "utf8")).exports
      for (const kind of ["config", "trace-event"]) {
        const name = `${kind}.schema.json`
        const inPackage = readFileSync(join(root, exported[`./${name}`]), "utf8")
        const printed = yield* ctl("schema", "--kind", kind)
        assert.deepStrictEqual(printed, { code: 0, out: [inPackage.trimEnd()], err: [] })
        const served = yield* Effect.promise(() => send(gateway.ports.admin!, { path: `/${name}` }))
        assert.strictEqual(served.headers["content-type"], "application/schema+json")
        assert.strictEqual(served.body, inPackage)
        assert.isTrue(new Ajv2020({ strict: false }).validateSchema(JSON.parse(inPackage)))
      }
      assert.deepStrictEqual(yield* ctl("schema"), yield* ctl("schema", "--kind", "config"))
      assert.strictEqual((yield* ctl("schema", "--kind", "nothing")).code, 1)
    })
  )
})

const opened = (text: string) =>
  Effect.gen(function* () {
    const lines: Array<string> = []
    const gateway = yield* start(text, { ephemeral: true, host: "127.0.0.1", log: (line) => lines.push(line) })
    return { gateway, lines }
  })

describe("problems", () => {
  it.live("are the same from the start, a reload, and the admin interface in each of its formats", () =>
    Effect.gen(function* () {
      const doubtful = `${direct}backends: []\nllm: { gateways: default, models: [{ name: a, provider: mock }, { name: a, provider: mock }] }\n`
      const { gateway, lines } = yield* opened(doubtful)
      const asked = (format: string) =>
        Effect.promise(() => send(gateway.ports.admin!, { path: `/config_problems?format=${format}` }))
      const warning = JSON.parse((yield* asked("json")).body).find(({ code }: Problem) => code === "model-never-used")
      assert.deepInclude(warning, { code: "model-never-used", line: 4, severity: "warning", file: "<inline>" })
      assert.include(
        lines.join(""),
        `${warning.path} ${warning.message} config=<inline>:4:${warning.column} code=model-never-used`
      )

      const refused = yield* Effect.flip(gateway.reload("routes: 1\ngateway: {}\n"))
      if (refused._tag !== "InvalidConfiguration") return assert.fail(refused._tag)
      assert.strictEqual(refused.problems.length, 2)
      for (const format of problemFormats)
        assert.strictEqual((yield* asked(format)).body, `${formatProblems(format, refused.problems)}\n`)
      assert.strictEqual((yield* asked("xml")).status, 400)

      // What was mended is forgotten, and what is doubtful is told again.
      yield* gateway.reload(direct)
      assert.strictEqual((yield* asked("json")).body, "[]\n")
      yield* gateway.reload(doubtful)
      assert.strictEqual(lines.filter((line) => line.includes("code=model-never-used")).length, 2)
    })
  )
})

describe("fmt", () => {
  it.live("changes a file, tells of one that it would change, and prints what it reads", () =>
    Effect.gen(function* () {
      const untidy = "routes: []\ngateways:   {a: {port: 1}} # one\n"
      const tidy = "gateways: { a: { port: 1 } } # one\nroutes: []\n"
      const file = fileOf("untidy.yaml", untidy)
      assert.deepStrictEqual(yield* ctl("fmt", "--check", "-f", file), { code: 1, out: [file], err: [] })
      assert.strictEqual(readFileSync(file, "utf8"), untidy)
      assert.deepStrictEqual(yield* ctl("fmt", "-f", file), { code: 0, out: [], err: [] })
      assert.strictEqual(readFileSync(file, "utf8"), tidy)
      assert.deepStrictEqual(yield* ctl("fmt", "--check", "-f", file), { code: 0, out: [], err: [] })
      const broken = fileOf("broken.yaml", "a: [\n")
      const failed = yield* ctl("fmt", "-f", broken)
      assert.deepStrictEqual(failed, {
        code: 1,
        out: [],
        err: [`${broken}:1:4: the bracket that begins here is not closed`]
      })
    })
  )

  it.live("replaces a file whole, where it is and with the rights that it has", () =>
    Effect.gen(function* () {
      const own = mkdtempSync(join(folder, "own-"))
      const [file, link] = [join(own, "config.yaml"), join(own, "link.yaml")]
      const untidy = "routes: []\ngateways: {}\n"
      writeFileSync(file, untidy)
      chmodSync(file, 0o640)
      symlinkSync("config.yaml", link)
      const reader = openSync(file, "r")
      assert.deepStrictEqual(yield* ctl("fmt", "-f", link), { code: 0, out: [], err: [] })
      // Whoever reads it meanwhile, as after a crash, has the old text and not a half of the new one.
      assert.strictEqual(readFileSync(reader, "utf8"), untidy)
      closeSync(reader)
      assert.strictEqual(readFileSync(file, "utf8"), "gateways: {}\nroutes: []\n")
      assert.strictEqual(statSync(file).mode & 0o777, 0o640)
      assert.isTrue(lstatSync(link).isSymbolicLink())
      assert.deepStrictEqual(readdirSync(own).sort(), ["config.yaml", "link.yaml"])
    })
  )

  it.live("leaves a file alone that is not UTF-8", () =>
    Effect.gen(function* () {
      const file = fileOf("latin1.yaml", "")
      const bytes = Buffer.from("# caf\xe9\nroutes: []\ngateways: {}\n", "latin1")
      writeFileSync(file, bytes)
      assert.deepStrictEqual(yield* ctl("fmt", "-f", file), {
        code: 1,
        out: [],
        err: [`cannot read ${file}: it is not UTF-8`]
      })
      assert.deepStrictEqual(readFileSync(file), bytes)
    })
  )
})

describe("diff", () => {
  const older = `gateways: { default: { port: 3000 }, other: { port: 3001 } }
routes:
- { policies: { directResponse: { status: 200 } } }
- name: api
  gateways: [default, other]
  matches: [{ path: { pathPrefix: /a } }]
  policies:
    cors: { allowOrigins: ["*"] }
    requestHeaderModifier: { set: { authorization: "Bearer one-secret" } }
  backends: [{ host: "a:1" }]
backends: [{ name: users, host: "u:1" }]
llm:
  gateways: default
  models: [{ name: a, provider: openai, params: { apiKey: one-secret } }]
`
  const newer = `# Moved.
gateways: { default: { port: 3000 }, other: { port: 3002 } }
routes:
- { matches: [{ path: { exact: /new } }], policies: { directResponse: { status: 204 } } }
- name: api
  gateways: [default, other]
  matches: [{ path: { pathPrefix: /b } }]
  policies:
    cors: { allowOrigins: ["https://a.example"] }
    timeout: { requestTimeout: 5s }
    requestHeaderModifier: { set: { authorization: "Bearer two-secret" } }
  backends: [{ host: "a:2" }]
- { policies: { directResponse: { status: 200 } } }
llm:
  gateways: default
  models: [{ name: a, provider: openai, params: { apiKey: two-secret } }, { name: b, provider: mock }]
`

  it.live("tells what was added, removed and changed, with the places in both files and without credentials", () =>
    Effect.gen(function* () {
      const [old, now] = [fileOf("old.yaml", older), fileOf("new.yaml", newer)]
      const { code, out, err } = yield* ctl("diff", old, now)
      assert.deepStrictEqual([code, err], [1, []])
      const lines = out.join("\n").replaceAll(old, "old").replaceAll(now, "new").split("\n")
      const added = lines.findIndex((line) => line.includes("models.b: + "))
      assert.deepStrictEqual(lines.toSpliced(added, 1), [
        "+ route gateway/default/default/route0  new:4:3",
        "~ route gateway/default/default/api  old:4:3 -> new:5:3",
        '    matches[0].path.pathPrefix: "/a" -> "/b"',
        "    backends[0].host.port: 1 -> 2",
        "~ policy gateway/default/default/api cors  old:8:11 -> new:9:11",
        '    allowOrigins[0]: "*" -> "https://a.example"',
        "+ policy gateway/default/default/api timeout  new:10:14",
        "~ policy gateway/default/default/api requestHeaderModifier  old:9:28 -> new:11:28",
        '    set.authorization: "<redacted>" -> "<redacted>"',
        "+ bind bind/3002  new:2:45",
        "~ backend /llm  old:12:1 -> new:14:1",
        '    llmRouter.target.models.a.policies.backendAuth.key.value: "<redacted>" -> "<redacted>"',
        "- bind bind/3001  old:1:45",
        "- backend /users  old:11:12"
      ])
      const json = yield* ctl("diff", "--format", "json", old, now)
      assert.strictEqual(json.code, 1)
      assert.notInclude(json.out.join(""), "secret")
      assert.deepInclude(JSON.parse(json.out.join(""))[0], {
        change: "added",
        kind: "route",
        new: { file: now, line: 4, column: 3, path: "routes[0]" }
      })
    })
  )

  it.live("exits as diff does: 0 for what means the same, 2 for a file that is wrong", () =>
    Effect.gen(function* () {
      const [old, same] = [fileOf("old.yaml", older), fileOf("same.yaml", `# Another comment.\n\n${older}`)]
      assert.deepStrictEqual(yield* ctl("diff", old, same), { code: 0, out: [], err: [] })
      assert.deepStrictEqual(yield* ctl("diff", "--format", "json", old, same), { code: 0, out: ["[]"], err: [] })
      const wrong = fileOf("wrong.yaml", "routes: 1\n")
      const { code, out, err } = yield* ctl("diff", old, wrong)
      assert.deepStrictEqual([code, out], [2, []])
      assert.include(err.join("\n"), `${wrong}:1:9: routes: `)
      assert.strictEqual((yield* ctl("diff", old, join(folder, "none.yaml"))).code, 2)
      // Standard input can be read once.
      const twice = { code: 2, out: [], err: ["only one of the two can be standard input"] }
      assert.deepStrictEqual(yield* ctl("diff", "-", "-"), twice)
    })
  )

  it.live("shows no control characters, whatever is named so", () =>
    Effect.gen(function* () {
      const route = (name: string) => direct.replace("name: hello", `name: "${name}"`)
      const { out } = yield* ctl("diff", fileOf("plain.yaml", route("a")), fileOf("esc.yaml", route("\\e[31m\\x9b")))
      assert.include(out.join("\n"), "\\u001b[31m\\u009b")
      assert.notMatch(out.join("\n"), /[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/)
    })
  )
})

describe("proxy config", () => {
  const text = `gateways: { default: { port: 8080, cors: { allowOrigins: ["*"] } } }
routes:
- { name: api, hostnames: [a.example], policies: { timeout: { requestTimeout: 5s } }, backends: [{ backend: /named }] }
backends: [{ name: named, host: "127.0.0.1:9" }]
llm: { gateways: default, models: [{ name: a, provider: mock }, { name: b, provider: mock }] }
`
  it.live("shows a running proxy and a saved dump alike", () =>
    Effect.gen(function* () {
      const { gateway } = yield* opened(text)
      const admin = String(gateway.ports.admin)
      const { body } = yield* Effect.promise(() => send(gateway.ports.admin!, { path: "/config_dump" }))
      const dump = fileOf("dump.json", body)
      const saved = yield* ctl("proxy", "config", "all", "--file", dump, "-o", "yaml")
      assert.deepStrictEqual(saved, yield* ctl("proxy", "config", "all", "--proxy-admin-port", admin, "-o", "yaml"))
      assert.deepStrictEqual(parse(saved.out.join("\n")), JSON.parse(body))
      for (const output of ["short", "json"])
        assert.deepStrictEqual(yield* ctl("proxy", "config", "all", "-f", dump, "-o", output), {
          code: 0,
          out: [body.trimEnd()],
          err: []
        })

      const short = (kind: string) =>
        Effect.map(ctl("proxy", "config", kind, "-f", dump), ({ out }) =>
          out
            .join("\n")
            .split("\n")
            .map((line) => line.split(/ {2,}/))
        )
      assert.deepStrictEqual(yield* short("binds"), [
        ["KEY", "ADDRESS", "PROTOCOL", "LISTENERS"],
        ["bind/8080", "[::]:8080", "http", "1"]
      ])
      assert.deepStrictEqual(yield* short("listeners"), [
        ["KEY", "BIND", "HOSTNAME", "PROTOCOL", "ROUTES"],
        ["gateway/default", "bind/8080", "*", "HTTP", "2"]
      ])
      assert.deepStrictEqual(yield* short("routes"), [
        ["KEY", "LISTENER", "HOSTNAMES", "MATCHES", "BACKENDS", "POLICIES"],
        ["gateway/default/default/api", "gateway/default", "a.example", "1", "/named", "timeout"],
        ["llm:request", "gateway/default", "*", "1", "/llm", "-"]
      ])
      assert.deepStrictEqual(yield* short("backends"), [
        ["TYPE", "NAME", "NAMESPACE", "ENDPOINT", "HEALTH", "REQUESTS", "LATENCY"],
        ["host", "named", "-", "127.0.0.1:9", "-", "-", "-"],
        ["llmRouter", "llm", "-", "a", "1.00", "0", "-"],
        ["llmRouter", "llm", "-", "b", "1.00", "0", "-"]
      ])
      assert.deepStrictEqual(yield* short("endpoints"), [
        ["TYPE", "BACKEND", "ENDPOINT", "GROUP", "HEALTH", "SCORE", "SHARE", "IN FLIGHT", "REQUESTS", "LATENCY"],
        ["llmRouter", "llm", "a", "-", "1.00", "1.00", "100%", "0", "0", "-"],
        ["llmRouter", "llm", "b", "-", "1.00", "1.00", "100%", "0", "0", "-"]
      ])
      const [, policy] = yield* short("policies")
      assert.deepStrictEqual([policy?.[0], policy?.at(-1)], ["gateway/default/cors", "traffic.cors"])
      const rows = yield* ctl("proxy", "config", "b", "-f", dump, "-o", "json")
      assert.deepInclude(JSON.parse(rows.out.join(""))[0], { type: "host", name: "named", endpoint: "127.0.0.1:9" })
      const older = { ...JSON.parse(body), endpoints: undefined }
      assert.include(
        (yield* ctl("proxy", "config", "b", "-f", fileOf("older.json", JSON.stringify(older)))).out.join("\n"),
        "a,b"
      )
      const hostile = fileOf("hostile.json", body.replaceAll('"named"', '"na\\u001b[31med"'))
      assert.include((yield* ctl("proxy", "config", "b", "-f", hostile)).out.join("\n"), "na\\u001b[31med")
    })
  )

  it.live("says what is wrong with what it is given", () =>
    Effect.gen(function* () {
      const none = yield* nowhere
      const unreachable = yield* ctl("proxy", "config", "all", "--proxy-admin-port", String(none))
      assert.strictEqual(unreachable.code, 1)
      assert.match(unreachable.err.join(""), /^cannot reach the admin interface at 127\.0\.0\.1:\d+: /)
      const prose = fileOf("prose.json", "prose")
      assert.deepStrictEqual((yield* ctl("proxy", "config", "all", "-f", prose)).err, [`${prose} is no JSON`])
      const other = fileOf("other.json", "{}")
      assert.deepStrictEqual((yield* ctl("proxy", "config", "routes", "-f", other)).err, [
        "this is no dump of a configuration"
      ])
    })
  )
})

describe("proxy log", () => {
  it.live("reads the level of a running proxy, and changes it", () =>
    Effect.gen(function* () {
      const { gateway } = yield* opened(direct)
      const log = (...args: ReadonlyArray<string>) => ctl("proxy", "log", "-p", String(gateway.ports.admin), ...args)
      assert.deepStrictEqual(yield* log(), { code: 0, out: ["current log level is info"], err: [] })
      assert.match(
        (yield* log("--set", "request=warn", "--set", "proxy=debug")).out.join(""),
        /request=warn.*proxy=debug/
      )
      assert.match((yield* log("--level", "error")).out.join(""), /^current log level is error/)
      assert.deepStrictEqual((yield* log("--reset")).out, ["current log level is info"])
      yield* log("--set", "request=warn")
      assert.deepStrictEqual((yield* log("--reset", "--set", "mcp=debug")).out, ["current log level is info,mcp=debug"])
      assert.strictEqual((yield* log("--level", "loud")).code, 1)
      assert.deepStrictEqual((yield* log("--level", "info", "--set", "a=b")).err, [
        "--level and --set exclude each other"
      ])
    })
  )

  it.live("the version is a line", () =>
    Effect.gen(function* () {
      const { out } = yield* ctl("version")
      assert.match(out.join("\n"), /^\d+\.\d+\.\d+$/)
    })
  )
})

describe("the command line", () => {
  it.live("takes the file of every command as an argument", () =>
    Effect.gen(function* () {
      const file = fileOf("argument.yaml", direct)
      assert.deepStrictEqual(yield* ctl("fmt", "--check", file), yield* ctl("fmt", "--check", "-f", file))
      assert.deepStrictEqual(yield* ctl("graph", file), yield* ctl("graph", "-f", file))
      assert.strictEqual((yield* ctl("graph", file)).code, 0)
      const twice = "the file is named twice: as an argument, and with -f"
      assert.deepStrictEqual(yield* ctl("fmt", "-f", file, file), { code: 1, out: [], err: [twice] })
      const which = "which file? headgatectl graph config.yaml, or - for standard input"
      assert.deepStrictEqual(yield* ctl("graph"), { code: 1, out: [], err: [which] })
    })
  )

  it.live("answers a slip with one line and how to get help, and does not end well", () =>
    Effect.gen(function* () {
      const slips: Readonly<Record<string, readonly [told: string, help: string]>> = {
        "fmt --chek": [
          "Unrecognized flag: --chek in command headgatectl fmt Did you mean this? --check",
          "headgatectl fmt"
        ],
        "validat --help": ["Unknown command: headgatectl validat; did you mean validate?", "headgatectl"],
        "proxy confg --help": ["Unknown command: headgatectl proxy confg; did you mean config?", "headgatectl proxy"]
      }
      for (const [line, [told, help]] of Object.entries(slips))
        assert.deepStrictEqual(yield* ctl(...line.split(" ")), {
          code: 1,
          out: [],
          err: [`${told}\n${help} --help shows what there is`]
        })
    })
  )

  it.live("knows the targets of the log, and says what is wrong with a file that cannot be read", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual((yield* ctl("proxy", "log", "--set", "requst=debug")).err, [
        "there is no log target requst; did you mean request?"
      ])
      assert.deepStrictEqual((yield* ctl("validate", folder)).err, [
        `cannot read ${folder}: it is a folder; name the file in it`
      ])
    })
  )

  it.live("counts the problems of a file at the end", () =>
    Effect.gen(function* () {
      const file = fileOf("two.yaml", "gateway: {}\nroutes: 1\n")
      const { code, out } = yield* ctl("validate", file)
      assert.deepStrictEqual([code, out.at(-1)], [1, "2 errors"])
    })
  )
})
