/** A backend of tests: answers as it was told, and keeps what it received. */
import type { IncomingMessage, Server, ServerResponse } from "node:http"
import { buffer } from "node:stream/consumers"
import { Effect, type Scope } from "effect"
import { freePort } from "./free-ports.ts"
import { httpBackend, portOf } from "./http/edge.ts"

export interface OriginRequest {
  readonly method: string
  readonly path: string
  readonly headers: IncomingMessage["headers"]
  readonly body: string
}

export interface OriginAnswer {
  readonly status?: number | undefined
  readonly headers?: Readonly<Record<string, string | ReadonlyArray<string>>> | undefined
  readonly body?: string | undefined
  /** Never answers. */
  readonly silent?: boolean | undefined
  /** Closes the connection instead of answering. */
  readonly closes?: boolean | undefined
}

export interface Origin {
  readonly server: Server
  readonly port: number
  /** As a configuration names it. */
  readonly address: string
  readonly received: Array<OriginRequest>
  /** How many connections were made to it so far. */
  readonly connections: () => number
}

/** Listens until the scope ends. The answer may be a function of the request and of how many came before. */
export const origin = (
  answer: OriginAnswer | ((request: OriginRequest, index: number) => OriginAnswer)
): Effect.Effect<Origin, never, Scope.Scope> =>
  Effect.gen(function* () {
    const received: Array<OriginRequest> = []
    const respond = (request: OriginRequest, response: ServerResponse) => {
      const said = typeof answer === "function" ? answer(request, received.length - 1) : answer
      if (said.silent === true) return
      if (said.closes === true) {
        response.destroy()
        return
      }
      response.writeHead(said.status ?? 200, { ...said.headers } as Record<string, string>)
      response.end(said.body)
    }
    const server = yield* httpBackend((request, response) => {
      buffer(request).then(
        (body) => {
          const seen = { method: request.method!, path: request.url!, headers: request.headers, body: body.toString() }
          received.push(seen)
          respond(seen, response)
        },
        // The proxy went away in the middle of its request.
        () => {}
      )
    })
    let connections = 0
    server.on("connection", () => connections++)
    const port = portOf(server.address())
    return { server, port, address: `127.0.0.1:${port}`, received, connections: () => connections }
  })

/** A port on which nobody listens. */
export const nowhere: Effect.Effect<number> = Effect.promise(freePort)
