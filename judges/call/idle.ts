/**
 * POST requests to nginx and to Node's own server, which close idle connections after two and after five seconds: fewer fail
 * over our connections than over those of undici, or as many.
 */
import { createServer } from "node:http"
import { Effect, type Scope } from "effect"
import { Pool } from "undici"
import { portOf, upstreamRequest, upstreamTo } from "../../test/http/edge.ts"
import { post } from "../../test/http/posts.ts"
import { nowhere } from "../../test/origin.ts"
import type { Verdict } from "./judge.ts"
import { startNginx } from "./servers.ts"

const lanes = 64
const rests = 12

/** It says nothing of how long it keeps a connection. */
const nginx = (seconds: number) =>
  Effect.flatMap(
    Effect.promise(() => Effect.runPromise(nowhere)),
    (port) =>
      Effect.as(
        startNginx(
          `keepalive_timeout ${seconds}s; keepalive_requests 1000000000;
          server { listen 127.0.0.1:${port}; location / { return 200 "ok"; } }`,
          [port]
        ),
        { port }
      )
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

/** @param count how many are sent over each of the two. */
export const judgeIdle = async (count: number): Promise<ReadonlyArray<Verdict>> => {
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
  return backends.map(({ name, seconds }, i) => ({
    about: `POSTs to ${name} that closes after ${seconds} s`,
    fault: failed.ours[i]! > failed.undici[i]! ? "more of ours fail than of undici's" : undefined
  }))
}
