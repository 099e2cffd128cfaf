/** Servers for the names that clients ask for, of which anybody can make up any number. */
import { readFileSync } from "node:fs"
import { createServer } from "node:net"
import { join } from "node:path"
import { connect, type TLSSocket } from "node:tls"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import type { ListenerTls } from "../../src/services/listener-tls.ts"
import { portOf } from "../../test/http/edge.ts"
import { Terminations } from "./terminations.ts"

const pem = (name: string) => readFileSync(join(import.meta.dirname, "../../test/http/fixtures/tls", name), "utf8")

const tls = (roots: string): ListenerTls => ({
  listener: "a",
  certificate: pem("server.pem"),
  key: Redacted.make(pem("server.key")),
  mode: "static",
  clients: { mode: "optional", roots },
  versions: ["TLSv1.2", "TLSv1.3"],
  ciphers: ["TLS_AES_128_GCM_SHA256", "ECDHE-ECDSA-AES128-GCM-SHA256", "ECDHE-RSA-AES128-GCM-SHA256"],
  groups: undefined,
  alpn: ["http/1.1"]
})

const terminations = () => {
  const sockets: Array<TLSSocket> = []
  const made = new Terminations(
    { contain: (cause) => assert.fail(String(cause)) },
    { now: Date.now, secured: (socket) => sockets.push(socket), failed: () => {} }
  )
  return { made, sockets }
}

describe("servers for names", () => {
  it("any number of names costs a bounded share of the time, and names that were known keep theirs", () => {
    const { made } = terminations()
    const own = tls(pem("authority.pem"))
    const known = made.server(own, "known.example", "127.0.0.1")
    const servers = new Set<unknown>()
    const before = process.threadCpuUsage()
    for (let i = 0; i < 20_000; i++) {
      servers.add(made.server(own, `${i}.example`, "127.0.0.1"))
      if (i % 16 === 0) assert.strictEqual(made.server(own, "known.example", "127.0.0.1"), known)
    }
    const { user, system } = process.threadCpuUsage(before)
    // One for each took eight seconds.
    assert.isBelow((user + system) / 1e6, 2)
    assert.isBelow(servers.size, 2000)
  })

  it.live("what names share resumes nothing", () =>
    Effect.gen(function* () {
      const { made } = terminations()
      const own = tls(pem("authority.pem"))
      const flooded = () => {
        const seen = new Map<unknown, number>()
        for (let i = 0; i < 2000; i++) {
          const server = made.server(own, `${i}-${Math.random()}.example`, "127.0.0.1")
          seen.set(server, (seen.get(server) ?? 0) + 1)
        }
        return [...seen].find(([, count]) => count > 100)![0] as ReturnType<typeof made.server>
      }
      const shared = flooded()
      const port = yield* Effect.acquireRelease(
        Effect.promise(
          () =>
            new Promise<ReturnType<typeof createServer>>((resolve) => {
              const server = createServer((socket) => shared.emit("connection", socket))
              server.listen(0, "127.0.0.1", () => resolve(server))
            })
        ),
        (server) => Effect.sync(() => server.close())
      )
      const handshake = (version: "TLSv1.2" | "TLSv1.3", session: Buffer | undefined) =>
        Effect.promise(
          () =>
            new Promise<{ readonly reused: boolean; readonly session: Buffer | undefined }>((resolve, reject) => {
              const socket = connect({
                port: portOf(port.address()),
                host: "127.0.0.1",
                servername: "any.example",
                ca: pem("authority.pem"),
                checkServerIdentity: () => undefined,
                minVersion: version,
                maxVersion: version,
                ...(session === undefined ? {} : { session })
              })
              let given: Buffer | undefined
              socket.on("session", (each) => {
                given = each
              })
              socket.on("error", reject)
              socket.on("secureConnect", () =>
                setImmediate(() => {
                  const reused = socket.isSessionReused()
                  resolve({ reused, session: given ?? socket.getSession() })
                  socket.destroy()
                })
              )
            })
        )
      for (const version of ["TLSv1.2", "TLSv1.3"] as const) {
        const { session } = yield* handshake(version, undefined)
        assert.isFalse((yield* handshake(version, session)).reused)
      }
    })
  )
})
