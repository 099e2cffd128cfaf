/**
 * The proof that a reload loses nothing: a process with 2,000 requests in flight at each of ten reloads. Nothing depends
 * on time: the backend keeps every answer back until the reload has been published.
 */
import { renameSync, writeFileSync } from "node:fs"
import { mkdtemp, rm } from "node:fs/promises"
import { connect, createServer, type Server, type Socket } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { send } from "../client.ts"
import { nowhere } from "../origin.ts"
import { startHeadgate, until } from "../program.ts"

const atOnce = 2000
const reloads = 10
const patience = 60_000

/** A request that a backend has taken and not answered: its path, and which configuration sent it. */
interface Held {
  readonly path: string
  readonly version: string
  readonly answer: () => void
}

/** Calls back with each whole head that a socket receives. */
const onHead = (socket: Socket, received: (head: string) => void) => {
  let text = ""
  socket.on("data", (bytes: Buffer) => {
    text += bytes.toString("latin1")
    for (let end = text.indexOf("\r\n\r\n"); end >= 0; end = text.indexOf("\r\n\r\n")) {
      const head = text.slice(0, end)
      text = text.slice(end + 4)
      received(head)
    }
  })
}

const headerOf = (head: string, name: string) =>
  head.match(new RegExp(`^${name}: (.*)$`, "im"))?.[1] ?? `no ${name} in ${JSON.stringify(head)}`

/** Answers nothing until it is told to; what it answers names the request and the configuration that sent it. */
class Holding {
  readonly held: Array<Held> = []
  readonly server: Server = createServer({ noDelay: true }, (socket) => {
    socket.on("error", () => {})
    onHead(socket, (head) => {
      const path = head.split(" ")[1]!
      const version = headerOf(head, "x-version")
      const answer = () =>
        socket.write(`HTTP/1.1 200 OK\r\ncontent-length: 0\r\nx-path: ${path}\r\nx-sent-by: ${version}\r\n\r\n`)
      this.held.push({ path, version, answer })
    })
  })
  listen(): Promise<number> {
    return new Promise((resolve) => {
      this.server.listen({ port: 0, host: "127.0.0.1", backlog: 4096 }, () => {
        const address = this.server.address()
        resolve(typeof address === "object" && address !== null ? address.port : 0)
      })
    })
  }
}

/** One kept connection, which asks for one thing after the other. */
class Client {
  readonly answers: Array<string> = []
  readonly socket: Socket
  lost = false
  constructor(port: number) {
    this.socket = connect({ port, host: "127.0.0.1", noDelay: true })
    const lost = () => {
      this.lost = true
    }
    this.socket.on("error", lost).on("close", lost)
    onHead(this.socket, (head) => this.answers.push(head))
  }
  ask(path: string): void {
    this.socket.write(`GET ${path} HTTP/1.1\r\nhost: a\r\n\r\n`)
  }
}

const configuration = (listener: number, backend: number, version: number) => `
gateways: { default: { port: ${listener} } }
routes:
  - name: version${version}
    matches: [{ path: { exact: /version } }]
    policies: { directResponse: { status: 200, body: "${version}" } }
  - name: held${version}
    policies:
      requestHeaderModifier: { set: { x-version: "${version}" } }
      responseHeaderModifier: { set: { x-version: "${version}" } }
    backends: [{ host: "127.0.0.1:${backend}" }]
`

describe("reload", () => {
  it.live(
    "20,000 requests in flight over ten reloads: none is lost, each ends on the configuration that it began with",
    () =>
      Effect.gen(function* () {
        const listener = yield* nowhere
        yield* Effect.promise(async () => {
          const backend = new Holding()
          const port = await backend.listen()
          const folder = await mkdtemp(join(tmpdir(), "headgate-"))
          const file = join(folder, "config.yaml")
          const edit = (version: number) => {
            writeFileSync(`${file}.new`, configuration(listener, port, version))
            renameSync(`${file}.new`, file)
          }
          edit(0)
          await using program = await startHeadgate(["-f", file], { RUST_LOG: "info,request=off" })
          const clients = Array.from({ length: atOnce }, () => new Client(listener))
          const taken = new Set<string>()
          const wrong: Array<string> = []
          let answered = 0
          for (let version = 0; version < reloads; version++) {
            for (const [index, client] of clients.entries()) client.ask(`/${version}/${index}`)
            await until(
              `${atOnce} requests are in flight in round ${version}`,
              () => backend.held.length === atOnce,
              patience
            )
            edit(version + 1)
            await until(
              `configuration ${version + 1} is published`,
              async () => (await send(listener, { path: "/version" })).body === String(version + 1),
              patience
            )
            // Not one of them was answered, or lost, or sent again.
            if (backend.held.length !== atOnce) wrong.push(`${backend.held.length} are held in round ${version}`)
            for (const { path, version: sentBy, answer } of backend.held.splice(0)) {
              if (sentBy !== String(version)) wrong.push(`${path} was sent by configuration ${sentBy}`)
              taken.add(path)
              answer()
            }
            await until(
              `every answer of round ${version}`,
              () => clients.every(({ answers, lost }) => answers.length === 1 || lost),
              patience
            )
            for (const [index, { answers, lost }] of clients.entries()) {
              if (lost) wrong.push(`connection ${index} was lost in round ${version}`)
              for (const head of answers.splice(0)) {
                answered++
                const found = [
                  head.split(" ")[1],
                  ...["x-path", "x-sent-by", "x-version"].map((n) => headerOf(head, n))
                ]
                const expected = ["200", `/${version}/${index}`, String(version), String(version)]
                if (found.join() !== expected.join()) wrong.push(`${found} instead of ${expected}`)
              }
            }
          }
          assert.deepStrictEqual(wrong.slice(0, 10), [])
          assert.strictEqual(answered, atOnce * reloads)
          assert.strictEqual(taken.size, atOnce * reloads)
          // Nothing of the ten is held any longer.
          const stats = Number((await program.says(/address=127\.0\.0\.1:(\d+) component=stats/))[1])
          await until("the old configurations are let go", async () =>
            /^headgate_configurations_held 1$/m.test((await send(stats, { path: "/metrics" })).body)
          )
          for (const { socket } of clients) socket.destroy()
          backend.server.close()
          await rm(folder, { recursive: true })
        })
      }),
    180_000
  )
})
