/**
 * POST requests to nginx and to Node's own server, which close idle connections after two and after five seconds: fewer fail
 * over our connections than over those of undici, or as many.
 *
 * `--count` says how many are sent over each of the two, 1,000,000 for example. Default 250,000: some minutes.
 */
import { type ChildProcess, spawn, spawnSync } from "node:child_process"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { createServer } from "node:http"
import { connect } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { parseArgs } from "node:util"
import { Effect, type Scope } from "effect"
import { Pool } from "undici"
import { portOf, upstreamRequest, upstreamTo } from "../../test/http/edge.ts"
import { post } from "../../test/http/posts.ts"
import { nowhere } from "../../test/origin.ts"
import { install } from "../debian.ts"

const { values: given } = parseArgs({ options: { count: { type: "string", default: "250000" } } })
const count = Number(given.count)
const lanes = 64
const rests = 12

const listens = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1", () => resolve(true)).once("error", () => resolve(false))
    socket.once("connect", () => socket.destroy())
  })

/** nginx in the foreground; yields its port. It says nothing of how long it keeps a connection. */
const nginx = (seconds: number) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const port = await Effect.runPromise(nowhere)
      const folder = mkdtempSync(join(tmpdir(), "headgate-judge-call-"))
      const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
      writeFileSync(
        join(folder, "nginx.conf"),
        `
daemon off; master_process off; pid ${folder}/pid; error_log ${folder}/error.log;
events { worker_connections 2000; }
http {
  access_log off; keepalive_timeout ${seconds}s; keepalive_requests 1000000000;
  ${temporary.map((kind) => `${kind}_temp_path ${folder}/${kind};`).join(" ")}
  server { listen 127.0.0.1:${port}; location / { return 200 "ok"; } }
}`
      )
      const child: ChildProcess = spawn("nginx", ["-p", folder, "-c", "nginx.conf", "-e", "stderr"], {
        stdio: "ignore"
      })
      for (let tries = 0; !(await listens(port)); tries++) {
        if (tries === 100 || child.exitCode !== null) throw new Error("nginx does not start")
        await sleep(50)
      }
      return { port, child, folder }
    }),
    ({ child, folder }) =>
      Effect.promise(async () => {
        const ended = new Promise((resolve) => child.once("close", resolve))
        child.kill("SIGTERM")
        await ended
        rmSync(folder, { recursive: true, force: true })
      })
  )

/** Node's own, which says in each answer how long it keeps a connection. */
const node = (seconds: number) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const server = createServer({ keepAliveTimeout: seconds * 1000 }, (request, response) => {
        request.resume().on("end", () => response.end("ok"))
      })
      server.keepAliveTimeoutBuffer = 0
      await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
      return { server, port: portOf(server.address()) }
    }),
    ({ server }) => Effect.sync(() => server.close().closeAllConnections())
  )

const backends = [
  { name: "nginx", seconds: 2, start: nginx },
  { name: "nginx", seconds: 5, start: nginx },
  { name: "node", seconds: 2, start: node },
  { name: "node", seconds: 5, start: node }
] as const

const body = "x".repeat(100)

const clients = {
  ours: (port: number): Effect.Effect<() => Promise<number>, never, Scope.Scope> =>
    Effect.map(upstreamTo(port), ({ send }) => {
      return () =>
        Effect.runPromise(
          Effect.map(
            send(upstreamRequest({ method: "POST", authority: `127.0.0.1:${port}`, body })),
            ({ status }) => status
          )
        )
    }),
  undici: (port: number): Effect.Effect<() => Promise<number>, never, Scope.Scope> =>
    Effect.map(
      Effect.acquireRelease(
        Effect.sync(() => new Pool(`http://127.0.0.1:${port}`)),
        (pool) => Effect.promise(() => pool.destroy())
      ),
      (pool) => async () => {
        const answer = await pool.request({ method: "POST", path: "/", body })
        await answer.body.dump()
        return answer.statusCode
      }
    )
}

install("nginx-light")
console.log(spawnSync("nginx", ["-v"], { encoding: "utf8" }).stderr.trim())

const failed: Record<keyof typeof clients, ReadonlyArray<number>> = { ours: [], undici: [] }
for (const client of ["undici", "ours"] as const) {
  const began = performance.now()
  const runs = backends.map(({ name, seconds, start }) =>
    Effect.gen(function* () {
      const { port } = yield* start(seconds)
      const send = yield* clients[client](port)
      const { sent, failures } = yield* Effect.promise(() =>
        post({ count: Math.ceil(count / backends.length), lanes, rests, closes: seconds * 1000, send })
      )
      const all = [...failures.values()].reduce((sum, many) => sum + many, 0)
      const why = [...failures].map(([why, many]) => `${many} × ${why}`).join("; ")
      console.log(`${client}: ${sent} to ${name} that closes after ${seconds} s: ${all} failed${why && ` (${why})`}`)
      return all
    }).pipe(Effect.scoped)
  )
  failed[client] = await Effect.runPromise(Effect.all(runs, { concurrency: "unbounded" }))
  console.log(`${client}: ${Math.round((performance.now() - began) / 1000)} s`)
}
const worse = backends.filter((_, i) => failed.ours[i]! > failed.undici[i]!)
for (const { name, seconds } of worse) console.log(`FAILED more of ours fail at ${name} that closes after ${seconds} s`)
console.log(`${backends.length - worse.length} passed, ${worse.length} failed`)
process.exit(worse.length === 0 ? 0 : 1)
