import { spawnSync } from "node:child_process"
import { existsSync } from "node:fs"
import { mkdtemp, rm, writeFile } from "node:fs/promises"
import { request } from "node:http"
import { createServer } from "node:net"
import { networkInterfaces, tmpdir } from "node:os"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { type Address, defaultLimits, listen } from "../../layers/http/listener.ts"
import { edge, httpBackend, portOf, proxyTo, text } from "./edge.ts"
import { RawClient } from "./raw-client.ts"

const get = "GET / HTTP/1.1\r\nhost: a\r\n\r\n"

const bind = (address: Address) =>
  listen({
    address,
    setting: "gateways.default.port",
    handle: () => Effect.succeed(text(200, "ok")),
    clocks: { wall: Date.now, monotonic: () => performance.now() },
    limits: () => defaultLimits,
    defect: () => {},
    drain: { minimum: 0, deadline: 0 }
  })

const folder = Effect.acquireRelease(
  Effect.promise(() => mkdtemp(join(tmpdir(), "edge-"))),
  (path) => Effect.promise(() => rm(path, { recursive: true }))
)

/** A port that somebody has taken. */
const taken = Effect.acquireRelease(
  Effect.promise(async () => {
    const server = createServer()
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
    return server
  }),
  (server) => Effect.promise(() => new Promise<void>((resolve) => server.close(() => resolve())))
)

const getThroughSocket = (path: string) =>
  Effect.promise(
    () =>
      new Promise<string>((resolve, reject) => {
        const call = request({ socketPath: path, path: "/", headers: { host: "a" } }, (response) => {
          response.setEncoding("utf8").on("data", resolve)
        })
        call.on("error", reject).end()
      })
  )

const hasIpv6 = Object.values(networkInterfaces()).some((all) => all?.some(({ address }) => address === "::1"))

describe("where it listens", () => {
  it.live("a port in use is told with its address and the setting to change", () =>
    Effect.gen(function* () {
      const port = portOf((yield* taken).address())
      const failure = yield* Effect.flip(bind({ _tag: "Tcp", host: "127.0.0.1", port }))
      assert.strictEqual(
        failure.message,
        `cannot listen on 127.0.0.1:${port}: another process uses this address; change gateways.default.port`
      )
      assert.strictEqual(failure._tag, "BindFailed")
      const both = yield* Effect.flip(bind({ _tag: "Localhost", port }))
      assert.match(both.message, /^cannot listen on localhost:\d+: another process uses this address/)
    })
  )

  it.live("no such address, no such port, no such folder", () =>
    Effect.gen(function* () {
      const foreign = yield* Effect.flip(bind({ _tag: "Tcp", host: "192.0.2.1", port: 0 }))
      assert.match(foreign.message, /^cannot listen on 192.0.2.1:0: this machine has no such address/)
      const port = yield* Effect.flip(bind({ _tag: "Tcp", host: "127.0.0.1", port: 70_000 }))
      assert.match(port.message, /there is no such port/)
      const lost = yield* Effect.flip(bind({ _tag: "Unix", path: "/nonexistent/folder/socket" }))
      assert.strictEqual(
        lost.message,
        "cannot listen on unix:/nonexistent/folder/socket: its folder does not exist; change gateways.default.port"
      )
      const empty = yield* Effect.flip(bind({ _tag: "Unix", path: "" }))
      assert.match(empty.message, /^cannot listen on unix:: it is no address/)
    })
  )

  it.live("localhost is 127.0.0.1 and ::1 with one port", () =>
    Effect.gen(function* () {
      const bound = yield* bind({ _tag: "Localhost", port: 0 })
      const port = bound.port ?? 0
      assert.deepStrictEqual(bound.addresses, [`127.0.0.1:${port}`, ...(hasIpv6 ? [`[::1]:${port}`] : [])])
      for (const host of ["127.0.0.1", ...(hasIpv6 ? ["::1"] : [])]) {
        const client = new RawClient(port, host).send(get)
        const [response] = yield* Effect.promise(() => client.responses(1))
        assert.strictEqual(response?.body.toString(), "ok")
        client.socket.destroy()
      }
    })
  )

  it.live("a client of a dual-stack socket has its IPv4 address", () =>
    Effect.gen(function* () {
      const { port } = yield* edge(
        (x) => Effect.succeed(text(200, `${x.peer.address} ${x.peer.rawAddress} ${x.peer.port}`)),
        {
          address: { _tag: "Tcp", host: hasIpv6 ? "::" : "0.0.0.0", port: 0 }
        }
      )
      const client = new RawClient(port).send(get)
      const [response] = yield* Effect.promise(() => client.responses(1))
      assert.strictEqual(response?.body.toString(), `127.0.0.1 127.0.0.1 ${client.socket.localPort}`)
      client.socket.destroy()
    })
  )

  it.live("a unix socket serves, and takes the place of a stale one", () =>
    Effect.gen(function* () {
      const path = join(yield* folder, "socket")
      // A process that is killed leaves the file of its socket behind.
      spawnSync(process.execPath, [
        "-e",
        `require("node:net").createServer().listen(${JSON.stringify(path)}, () => process.kill(process.pid, "SIGKILL"))`
      ])
      assert.isTrue(existsSync(path))
      const bound = yield* bind({ _tag: "Unix", path })
      assert.deepStrictEqual([bound.addresses, bound.port], [[`unix:${path}`], undefined])
      assert.strictEqual(yield* getThroughSocket(path), "ok")
    })
  )

  it.live("a unix socket that somebody serves is in use", () =>
    Effect.gen(function* () {
      const path = join(yield* folder, "socket")
      yield* bind({ _tag: "Unix", path })
      const failure = yield* Effect.flip(bind({ _tag: "Unix", path }))
      assert.match(failure.message, /another process uses this address/)
      assert.strictEqual(yield* getThroughSocket(path), "ok")
    })
  )

  it.live("a file that is no socket is left alone", () =>
    Effect.gen(function* () {
      const path = join(yield* folder, "notes.txt")
      yield* Effect.promise(() => writeFile(path, "precious"))
      const failure = yield* Effect.flip(bind({ _tag: "Unix", path }))
      assert.match(failure.message, /there is a file that is no socket/)
    })
  )
})

describe("backends", () => {
  it.live("may be unix sockets", () =>
    Effect.gen(function* () {
      const path = join(yield* folder, "backend")
      yield* bind({ _tag: "Unix", path })
      const { port } = yield* proxyTo({ kind: "unix", path })
      const client = new RawClient(port).send(get)
      const [response] = yield* Effect.promise(() => client.responses(1))
      assert.strictEqual(response?.body.toString(), "ok")
      client.socket.destroy()
    })
  )

  it.live("may be names, and IPv6 addresses", () =>
    Effect.gen(function* () {
      const backend = yield* httpBackend((call, response) => response.end(`for ${call.headers.host}`))
      const targets = [{ kind: "tcp", host: "localhost", port: portOf(backend.address()), tls: false } as const]
      const bound = yield* bind({ _tag: "Localhost", port: 0 })
      const six = { kind: "tcp", host: "::1", port: bound.port ?? 0, tls: false } as const
      for (const target of hasIpv6 ? [...targets, six] : targets) {
        const { port } = yield* proxyTo(target)
        const client = new RawClient(port).send(get)
        const [response] = yield* Effect.promise(() => client.responses(1))
        assert.strictEqual(response?.body.toString(), target === six ? "ok" : "for a")
        client.socket.destroy()
      }
    })
  )
})
