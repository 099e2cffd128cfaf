/** headgatectl against running proxies, and against admin interfaces that do what no proxy does. */
import { execFile } from "node:child_process"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { createServer, type ServerResponse } from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { toolCodes } from "../src/main/exit-codes.ts"
import { start } from "../src/main/library.ts"
import { traceProblems } from "../src/main/testing.ts"
import { send } from "./client.ts"
import { portOf } from "./http/edge.ts"
import { eventually } from "./http/raw-client.ts"
import { nowhere, origin } from "./origin.ts"
import { root } from "./program.ts"
import { ctl } from "./tool.ts"

const folder = mkdtempSync(join(tmpdir(), "headgatectl-"))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
const fileOf = (name: string, text: string): string => {
  const file = join(folder, name)
  writeFileSync(file, text)
  return file
}

const proxy = Effect.gen(function* () {
  const backend = yield* origin({ status: 201, body: "made" })
  const gateway = yield* start(
    `{ gateways: { default: { port: 8080 } }, routes: [{ backends: [{ host: "${backend.address}" }] }] }`,
    { ephemeral: true, host: "127.0.0.1" }
  )
  return { backend, gateway, admin: String(gateway.ports.admin), port: String(gateway.port(8080)) }
})

/** An admin interface that sends what it is told. */
const fakeAdmin = (answer: (response: ServerResponse, url: string) => void) =>
  Effect.map(
    Effect.acquireRelease(
      Effect.promise(
        () =>
          new Promise<ReturnType<typeof createServer>>((resolve) => {
            const server = createServer((request, response) => answer(response, `${request.method} ${request.url}`))
            server.listen(0, "127.0.0.1", () => resolve(server))
          })
      ),
      (server) =>
        Effect.sync(() => {
          server.close()
          server.closeAllConnections()
        })
    ),
    (server) => String(portOf(server.address()))
  )

const event = (type: string, end = 1) =>
  JSON.stringify({ eventStart: null, eventEnd: end, severity: "info", message: { type } })

describe("the proxy that is asked", () => {
  const named = (value: string) =>
    Effect.acquireRelease(
      Effect.sync(() => {
        const before = process.env["ADMIN_ADDR"]
        process.env["ADMIN_ADDR"] = value
        return before
      }),
      (before) =>
        Effect.sync(() => {
          if (before === undefined) delete process.env["ADMIN_ADDR"]
          else process.env["ADMIN_ADDR"] = before
        })
    )

  it.live("is the one that ADMIN_ADDR names, unless a port is given", () =>
    Effect.gen(function* () {
      const { admin } = yield* proxy
      yield* named(`localhost:${admin}`)
      assert.strictEqual((yield* ctl("proxy", "config", "routes")).code, 0)
      assert.strictEqual((yield* ctl("proxy", "log")).code, 0)
      const closed = String(yield* nowhere)
      const { code, err } = yield* ctl("proxy", "log", "--proxy-admin-port", closed)
      assert.strictEqual(code, 1)
      assert.include(err.join("\n"), `127.0.0.1:${closed}`)
    })
  )

  it.effect.each([
    { value: "off", told: "ADMIN_ADDR is off: the proxy cannot be asked" },
    { value: "elsewhere.example:1", told: "ADMIN_ADDR: a host name other than localhost is not an address" }
  ])("is none where ADMIN_ADDR is $value", ({ value, told }) =>
    Effect.gen(function* () {
      yield* named(value)
      const { code, err } = yield* ctl("proxy", "config", "routes")
      assert.strictEqual(code, 1)
      assert.include(err.join("\n"), told)
    })
  )
})

describe("proxy trace, with a request of its own", () => {
  it.live("sends it once the watcher is in place, to the listener's port, with the host of the URL", () =>
    Effect.gen(function* () {
      const { backend, admin, port } = yield* proxy
      const { code, out, err } = yield* ctl(
        ...["proxy", "trace", "--local", "--raw", "--proxy-admin-port", admin, "--port", port, "--"],
        ...["http://shop.example/orders?x=1", "-X", "PUT", "-H", "x-a: 1", "-d", "body"]
      )
      assert.deepStrictEqual([code, err], [0, []])
      const events = out.map((line) => JSON.parse(line))
      assert.deepStrictEqual(traceProblems(events), [])
      assert.deepInclude(events[1].message.requestState.request, {
        method: "PUT",
        uri: "http://shop.example/orders?x=1"
      })
      const [received] = backend.received
      assert.deepInclude(received, { method: "PUT", path: "/orders?x=1", body: "body" })
      assert.deepInclude(received?.headers, { host: "shop.example", "x-a": "1" })
    })
  )

  it.live("without --port it goes to the port of the URL, and a resource beside --local is accepted", () =>
    Effect.gen(function* () {
      const { backend, admin, port } = yield* proxy
      const args = ["proxy", "trace", "gateway/default", "-n", "default", "--local", "--proxy-admin-port", admin]
      const { code, out } = yield* ctl(...args, "--", `http://shop.example:${port}/`)
      assert.strictEqual(code, 0)
      assert.strictEqual(backend.received[0]?.headers.host, `shop.example:${port}`)
      // For people: one line an event.
      assert.match(out[0]!, /^ +\d+\.\d{3} ms {2}info +requestStarted$/)
      assert.isTrue(
        out.some((line) => line.endsWith(`requestSnapshot    initial request: GET http://shop.example:${port}/`))
      )
      assert.isTrue(out.some((line) => line.endsWith("requestFinished    201")))
    })
  )

  it.live("a request that cannot be sent is an error with what curl says", () =>
    Effect.gen(function* () {
      const { admin } = yield* proxy
      const closed = String(yield* nowhere)
      const { code, out, err } = yield* ctl(
        ...["proxy", "trace", "--local", "--proxy-admin-port", admin, "--port", closed, "--", "http://a.example/"]
      )
      assert.deepStrictEqual([code, out], [1, []])
      assert.match(err.join("\n"), /^curl: \(7\) /)
    })
  )
})

describe("proxy trace, watching", () => {
  it.live("shows the next request of anybody that an expression wants, exactly as it was sent", () =>
    Effect.gen(function* () {
      const { gateway, admin } = yield* proxy
      const watching = yield* Effect.forkChild(
        ctl("proxy", "trace", "--local", "--raw", "--proxy-admin-port", admin, "--expression", 'request.path == "/b"')
      )
      yield* Effect.promise(() => eventually(() => gateway.watchers.waiting))
      yield* Effect.promise(() => send(gateway.port(8080)!, { path: "/a" }))
      yield* Effect.promise(() => send(gateway.port(8080)!, { path: "/b" }))
      const { code, out } = yield* Effect.timeout(Fiber.join(watching), "3 seconds")
      assert.strictEqual(code, 0)
      assert.strictEqual(JSON.parse(out[1]!).message.requestState.request.path, "/b")
    })
  )

  it.live("raw output is the data lines, whatever they hold; everything else of the stream is passed over", () =>
    Effect.gen(function* () {
      const lines = [event("requestStarted"), '{ "odd":  1.0e0, "ä": "\\u00e4" }', event("requestFinished", 2)]
      const admin = yield* fakeAdmin((response, url) => {
        assert.strictEqual(url, "POST /debug/trace?")
        response.writeHead(200, { "content-type": "text/event-stream" })
        response.write(": ready\n\n: keepalive\n\n")
        const text = lines.map((line) => `id: 1\nevent: x\ndata: ${line}\n\n`).join(": keepalive\n\n")
        // Cut anywhere, in the middle of characters too.
        const bytes = Buffer.from(text)
        for (let at = 0; at < bytes.length; at += 7) response.write(bytes.subarray(at, at + 7))
        response.end()
      })
      const { code, out } = yield* ctl("proxy", "trace", "--local", "--raw", "--proxy-admin-port", admin)
      assert.deepStrictEqual([code, out], [0, lines])
      // An event of a later version is shown as it is.
      assert.strictEqual((yield* ctl("proxy", "trace", "--local", "--proxy-admin-port", admin)).out[1], lines[1])
    })
  )

  it.live("tells what went wrong on the other side", () =>
    Effect.gen(function* () {
      const { admin } = yield* proxy
      const trace = (port: string, ...more: ReadonlyArray<string>) =>
        ctl("proxy", "trace", "--local", "--proxy-admin-port", port, ...more)
      const refused = yield* trace(admin, "--expression", "1 +")
      assert.strictEqual(refused.code, 1)
      assert.match(refused.err.join(), /^invalid expression: /)

      const closed = yield* nowhere
      const unreachable = yield* trace(String(closed))
      assert.strictEqual(unreachable.code, 1)
      assert.match(
        unreachable.err.join(),
        new RegExp(`^cannot reach the admin interface at 127\\.0\\.0\\.1:${closed}: .*ECONNREFUSED`)
      )

      const other = yield* fakeAdmin((response) => response.writeHead(404).end("no such thing\n"))
      assert.deepStrictEqual(yield* trace(other), { code: 1, out: [], err: ["no such thing"] })

      const mute = yield* fakeAdmin((response) => response.writeHead(200).end("hello"))
      const said = yield* trace(mute)
      assert.deepStrictEqual([said.code, said.err], [1, [`127.0.0.1:${mute} did not send a trace`]])

      const breaking = yield* fakeAdmin((response) => {
        response.writeHead(200).write(`: ready\n\ndata: ${event("requestStarted")}\n\n`)
        setTimeout(() => response.destroy(), 50)
      })
      const broken = yield* trace(breaking, "--raw")
      assert.deepStrictEqual([broken.code, broken.out], [1, [event("requestStarted")]])
      assert.match(broken.err.join(), /^the trace broke off: /)
    })
  )
})

describe("proxy trace, of a file", () => {
  it.live("shows JSON lines, or an event stream as it was saved", () =>
    Effect.gen(function* () {
      const [one, two] = [event("requestStarted"), event("requestFinished", 2500)]
      const lines = fileOf("trace.jsonl", `${one}\n${two}\n`)
      const stream = fileOf("trace.sse", `: ready\n\ndata: ${one}\n\n: keepalive\n\ndata: ${two}\n\n`)
      for (const file of [lines, stream]) {
        assert.deepStrictEqual(yield* ctl("proxy", "trace", "-f", file, "--raw"), { code: 0, out: [one, two], err: [] })
        assert.match((yield* ctl("proxy", "trace", "-f", file)).out[0]!, /0\.001 ms {2}info +requestStarted$/)
      }
      const missing = yield* ctl("proxy", "trace", "-f", join(folder, "none"))
      assert.deepStrictEqual(missing, { code: 1, out: [], err: [`cannot read ${join(folder, "none")}`] })
    })
  )
})

describe("proxy trace, its arguments", () => {
  const rows: ReadonlyArray<readonly [args: ReadonlyArray<string>, said: RegExp]> = [
    [["gateway/default"], /leave its name out/],
    [
      ["http://localhost:3000/a"],
      /a request is written behind --: headgatectl proxy trace -- http:\/\/localhost:3000\/a/
    ],
    [["--local", "--port", "0"], /--port/],
    [["--local", "--port", "65536"], /--port/],
    [["--local", "--port", "x"], /--port/],
    [["--local", "--proxy-admin-port", "70000"], /--proxy-admin-port/],
    [["--local", "--", "shop.example"], /expected an http or https URL after --/],
    [["--local", "--", "-X", "POST"], /expected an http or https URL after --/],
    [["--local", "--", "ftp://a.example/"], /expected an http or https URL after --/],
    [["--local", "--", "http://a.example:99999/"], /expected an http or https URL after --/],
    [["--local", "--", "http://a.example/", "http://b.example/"], /all URLs must have the same host/],
    [["--local", "--", "http://a.example/", "https://a.example:8443/"], /all URLs must have the same host/],
    [["-f", "x", "--local"], /--file shows a saved trace/],
    [["-f", "x", "gateway/default"], /--file shows a saved trace/],
    [["-f", "x", "--expression", "true"], /--file shows a saved trace/],
    [["-f", "x", "--", "http://a.example/"], /--file shows a saved trace/],
    [["--local", "--follow"], /--follow/],
    [["--local", "--"], /expected an http or https URL after --/],
    [["--local", "gateway/a", "gateway/b"], /gateway\/b/]
  ]
  for (const [args, said] of rows)
    it.live(`${args.join(" ") || "none"}: an error`, () =>
      Effect.gen(function* () {
        const { code, err } = yield* ctl("proxy", "trace", ...args)
        assert.strictEqual(code, 1)
        assert.match(err.join("\n"), said)
      })
    )

  it.live("--port without a URL is accepted and unused", () =>
    Effect.gen(function* () {
      const admin = yield* fakeAdmin((response) =>
        response.writeHead(200).end(`: ready\n\ndata: ${event("requestStarted")}\n\n`)
      )
      const { code, out } = yield* ctl("proxy", "trace", "--local", "--raw", "--port", "1", "--proxy-admin-port", admin)
      assert.deepStrictEqual([code, out], [0, [event("requestStarted")]])
    })
  )
})

describe("graph", () => {
  const file = () =>
    fileOf(
      "graph.yaml",
      `gateways: { default: { port: 8080 } }
routes:
  - name: api
    policies:
      timeout: { requestTimeout: 5s }
    backends: [{ host: "127.0.0.1:9" }]
`
    )

  it.live("of every route, as JSON or as a drawing", () =>
    Effect.gen(function* () {
      const { code, out } = yield* ctl("graph", "-f", file())
      assert.strictEqual(code, 0)
      const [graph] = JSON.parse(out.join("\n"))
      assert.strictEqual(graph.route, "gateway/default/default/api")
      assert.deepStrictEqual(
        graph.nodes.map(({ label }: { label: string }) => label),
        ["request", "route selection", "timeout", "static 127.0.0.1:9", "response"]
      )
      const drawn = yield* ctl("graph", "--file", file(), "--format", "mermaid")
      assert.strictEqual(
        drawn.out.join("\n").trimEnd(),
        `flowchart TD
  subgraph r0["gateway/default/default/api to gateway/default/default/api/backend0"]
    r0n0(["request"])
    r0n1{"route selection"}
    r0n2["timeout<br/>${file()}:5:16"]
    r0n3[["static 127.0.0.1:9"]]
    r0n4(["response"])
    r0n0 --> r0n1
    r0n1 --> r0n2
    r0n2 --> r0n3
    r0n2 -.->|"timeouts"| r0n3
    r0n3 -->|fail| r0n4
    r0n3 --> r0n4
  end`
      )
    })
  )

  it.live("of a configuration that is wrong: its problems", () =>
    Effect.gen(function* () {
      const wrong = fileOf("wrong-graph.yaml", "routes: 1\n")
      const { code, out, err } = yield* ctl("graph", "-f", wrong)
      assert.deepStrictEqual([code, out], [1, []])
      assert.include(err.join("\n"), `${wrong}:1:9: routes: `)
    })
  )
})

describe("validate", () => {
  it.live("tells every problem in each format", () =>
    Effect.gen(function* () {
      const file = fileOf("wrong.yaml", "gateways: { default: { port: 0 } }\nroutes:\n  - policys: {}\n")
      const text = yield* ctl("validate", file)
      assert.strictEqual(text.code, 1)
      assert.include(text.out.join("\n"), `${file}:1:30: gateways.default.port: `)
      assert.include(text.out.join("\n"), `${file}:3:5: routes[0].policys: unknown key, did you mean policies?`)
      const json = yield* ctl("validate", "--format", "json", file)
      assert.strictEqual(json.code, 1)
      const problems = JSON.parse(json.out.join("\n"))
      assert.deepInclude(problems[1], { file, line: 3, column: 5, severity: "error" })
      const github = yield* ctl("validate", "--format", "github", file)
      assert.match(github.out.join("\n"), /^::error file=.*wrong\.yaml,line=1,col=30/m)
    })
  )

  it.live("says that a valid one is, on the format's own terms", () =>
    Effect.gen(function* () {
      const file = fileOf("valid.yaml", "gateways: { default: { port: 8080 } }\n")
      assert.deepStrictEqual(yield* ctl("validate", file), { code: 0, out: ["Configuration is valid!"], err: [] })
      assert.deepStrictEqual(yield* ctl("validate", "--format", "json", file), { code: 0, out: ["[]"], err: [] })
      assert.deepStrictEqual(yield* ctl("validate", "--format", "github", file), { code: 0, out: [], err: [] })
      const lacking = fileOf("lacking.yaml", "gateways: { default: { port: 8080 } }\nworkloads: [{}, {}]\n")
      const unserved = yield* ctl("validate", lacking)
      assert.deepStrictEqual([unserved.code, unserved.out.at(-1)], [3, "valid, but this build cannot serve 2 things"])
      assert.strictEqual((yield* ctl("validate", "--format", "json", lacking)).code, 3)
      const strict = yield* ctl("validate", "--strict", lacking)
      assert.strictEqual(strict.code, 1)
      assert.notInclude(strict.out.at(-1), "valid, but")
      const missing = yield* ctl("validate", join(folder, "none.yaml"))
      assert.deepStrictEqual(missing, {
        code: 1,
        out: [],
        err: [`cannot read ${join(folder, "none.yaml")}: there is no such file`]
      })
    })
  )
})

describe("the program", () => {
  it("runs as its users type it", async () => {
    const run = (...args: ReadonlyArray<string>) =>
      new Promise<{ readonly code: number; readonly out: string; readonly err: string }>((resolve) => {
        execFile(process.execPath, [join(root, "bin/headgatectl.mjs"), ...args], (error, out, err) =>
          resolve({ code: Number(error?.code ?? 0), out, err })
        )
      })
    const valid = fileOf("program.yaml", "gateways: { default: { port: 8080 } }\n")
    const [version, help, unknown, ok, failed] = await Promise.all([
      run("--version"),
      run("--help"),
      run("proxy", "trade"),
      run("validate", valid),
      run("proxy", "trace", "gateway/default")
    ])
    assert.match(version.out, /^headgatectl v\d+\.\d+\.\d+\n$/)
    for (const { code, meaning } of toolCodes) assert.include(help.out, `\n  ${String(code).padEnd(3)}  ${meaning}\n`)
    assert.deepStrictEqual([unknown.code, ok.code, ok.out], [1, 0, "Configuration is valid!\n"])
    assert.match(`${unknown.out}${unknown.err}`, /trade/)
    assert.deepStrictEqual([failed.code, failed.out], [1, ""])
    assert.match(failed.err, /leave its name out/)
  })
})
