/**
 * The management servers (admin, metrics, readiness) on their addresses: Effect's own HTTP server, since nothing of the
 * data path runs here.
 */
import { existsSync, lstatSync, unlinkSync } from "node:fs"
import { createServer, type Server } from "node:http"
import type { ListenOptions } from "node:net"
import { NodeHttpServer } from "@effect/platform-node"
import { Data, Effect, type Layer, type Scope } from "effect"
import { HttpRouter } from "effect/http"
import type { AdminAddress } from "./admin-address.ts"

/** A management server cannot listen. */
export class ManagementBindFailed extends Data.TaggedError("ManagementBindFailed")<{
  readonly component: string
  readonly address: string
  readonly setting: string
  readonly detail: string
}> {
  override get message() {
    return `cannot listen on ${this.address} for ${this.component}: ${this.detail}. Change ${this.setting}.`
  }
}

export interface ManagementServer {
  /** `admin`, `stats` or `readiness`: for messages and the log. */
  readonly component: string
  readonly address: AdminAddress
  /** The configuration key of the address. */
  readonly setting: string
}

/** Serves routes on every socket of an address until the scope closes. Ends with the addresses that were bound. */
export const serveManagement = (
  server: ManagementServer,
  routes: Layer.Layer<never, never, HttpRouter.HttpRouter>
): Effect.Effect<ReadonlyArray<string>, ManagementBindFailed, Scope.Scope> =>
  Effect.gen(function* () {
    const handler = yield* HttpRouter.toHttpEffect(routes)
    const handle = yield* NodeHttpServer.makeHandler(handler, { scope: yield* Effect.scope })
    const bound: Array<string> = []
    for (const options of socketsOf(server.address)) {
      const failed = (detail: string) =>
        new ManagementBindFailed({
          component: server.component,
          address: textOf(options),
          setting: server.setting,
          detail
        })
      if (options.path !== undefined) {
        const problem = removeStaleSocket(options.path)
        if (problem !== undefined) return yield* failed(problem)
      }
      const listening = Effect.acquireRelease(listen(createServer({ headersTimeout: 2000 }, handle), options), close)
      const result = yield* Effect.result(listening)
      if (result._tag === "Success") {
        bound.push(textOf(options))
        continue
      }
      // localhost means both loopbacks; a machine without IPv6 has one.
      if (bound.length > 0 && ["EAFNOSUPPORT", "EADDRNOTAVAIL"].includes(result.failure.code ?? "")) continue
      return yield* failed(result.failure.code === "EADDRINUSE" ? "the address is in use" : result.failure.message)
    }
    return bound
  })

const socketsOf = (address: AdminAddress): ReadonlyArray<ListenOptions> => {
  switch (address._tag) {
    case "Off":
      return []
    case "Socket":
      return [{ path: address.path }]
    case "Tcp":
      return address.hosts.map((host) => ({ host, port: address.port, ...(host === "::1" ? { ipv6Only: true } : {}) }))
  }
}

const textOf = (options: ListenOptions): string =>
  options.path !== undefined
    ? `unix:${options.path}`
    : `${options.host?.includes(":") === true ? `[${options.host}]` : options.host}:${options.port}`

/** A socket file that a process left behind is removed; anything else in its place is a problem. */
const removeStaleSocket = (path: string): string | undefined => {
  if (!existsSync(path)) return undefined
  if (!lstatSync(path).isSocket()) return "a file that is no socket is in the way"
  unlinkSync(path)
  return undefined
}

const listen = (server: Server, options: ListenOptions): Effect.Effect<Server, NodeJS.ErrnoException> =>
  Effect.callback((resume) => {
    const onError = (error: NodeJS.ErrnoException) => resume(Effect.fail(error))
    server.once("error", onError)
    server.listen(options, () => {
      server.off("error", onError)
      resume(Effect.succeed(server))
    })
  })

const close = (server: Server): Effect.Effect<void> =>
  Effect.callback((resume) => {
    server.close(() => resume(Effect.void))
    server.closeAllConnections()
  })
