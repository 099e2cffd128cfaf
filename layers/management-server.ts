/** The management servers (admin, metrics, readiness) on their addresses. Nothing of the data path runs here. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http"
import { Effect, type Scope } from "effect"
import { containedBy } from "../src/services/contained.ts"
import { containerOf, Defects } from "../src/services/defects.ts"
import { type Address, BindFailed, bind, clearSocketFile, show } from "./http/address.ts"

export interface ManagementServer {
  readonly address: Address
  /** The configuration key of the address, as `config.adminAddr`. */
  readonly setting: string
}

/** Answers a request. */
export type Answer = (request: IncomingMessage, response: ServerResponse) => void

/** Serves on every socket of an address until the scope closes. Ends with the port, if there is one. */
export const serveManagement = (
  { address, setting }: ManagementServer,
  answer: Answer
): Effect.Effect<number | undefined, BindFailed, Scope.Scope> =>
  Effect.gen(function* () {
    const tell = yield* Defects
    const handle = containedBy(
      ({ socket }: IncomingMessage, _: ServerResponse) => containerOf(tell, "management", () => socket.destroy()),
      answer
    )
    const refused = ({ code }: { readonly code: string }) => new BindFailed({ address: show(address), setting, code })
    const open = (options: Parameters<typeof bind>[1]) => {
      const server = createServer({ headersTimeout: 2000 }, (request, response) => {
        // Node shows the first of several hosts, and whom to believe depends on it.
        if ((request.headersDistinct["host"]?.length ?? 0) > 1)
          response.writeHead(400).end("more than one host header\n")
        else handle(request, response)
      })
      return Effect.as(
        Effect.acquireRelease(bind(server, options), () => close(server)),
        server
      )
    }
    switch (address._tag) {
      case "Unix":
        yield* Effect.mapError(Effect.andThen(clearSocketFile(address.path), open({ path: address.path })), refused)
        return undefined
      case "Tcp":
        return portOf(yield* Effect.mapError(open({ host: address.host, port: address.port }), refused))
      case "Localhost": {
        const port = portOf(yield* Effect.mapError(open({ host: "127.0.0.1", port: address.port }), refused))
        // A machine without IPv6 has one loopback; that is no failure.
        yield* open({ host: "::1", port }).pipe(
          Effect.catch((failure) =>
            ["EADDRNOTAVAIL", "EAFNOSUPPORT"].includes(failure.code) ? Effect.void : Effect.fail(refused(failure))
          )
        )
        return port
      }
    }
  })

const portOf = (server: Server): number | undefined => {
  const address = server.address()
  return typeof address === "object" ? address?.port : undefined
}

const close = (server: Server): Effect.Effect<void> =>
  Effect.callback((resume) => {
    server.close(() => resume(Effect.void))
    server.closeAllConnections()
  })
