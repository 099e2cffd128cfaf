/**
 * What the management servers answer. Readiness and metrics are asked for all the time and are little: node's own server does
 * for them. The admin interface is asked now and then, and loaded with the first request.
 */
import type { IncomingMessage, ServerResponse } from "node:http"
import { Effect, type Scope } from "effect"
import type { Answer } from "../../../layers/management-server.ts"
import { Defects, type TellDefect } from "../../services/defects.ts"
import type { Metrics } from "../../services/metrics.ts"
import type { Controls } from "./admin.ts"

/** Whether requests should be sent here. */
export interface Readiness {
  readonly pending: Set<string>
  draining: boolean
}

const plain = (response: ServerResponse, status: number, text: string, contentType = "text/plain") => {
  response.writeHead(status, { "content-type": contentType, "content-length": Buffer.byteLength(text) }).end(text)
}

/** Answers these paths. */
const answeringAt =
  (paths: ReadonlyArray<string>, answer: Answer): Answer =>
  (request, response) => {
    const [path = ""] = request.url!.split("?", 1)
    if (paths.includes(path.replace(/\/$/, ""))) answer(request, response)
    else response.writeHead(404).end()
  }

export const readiness = (state: Readiness): Answer =>
  answeringAt(["/healthz/ready"], ({ method }, response) => {
    if (method !== "GET") response.writeHead(405, { allow: "GET" }).end()
    else if (state.draining) plain(response, 503, "not ready, draining\n")
    else if (state.pending.size === 0) plain(response, 200, "ready\n")
    else plain(response, 500, `not ready, pending: ${[...state.pending].sort().join(", ")}\n`)
  })

/** A promise that fails is a failure of the proxy itself: the request is cut, and the failure told. */
const failing =
  (tell: TellDefect, { socket }: IncomingMessage) =>
  (cause: unknown) => {
    tell("management", cause)
    socket.destroy()
  }

export const scrape = (metrics: Metrics["Service"]): Effect.Effect<Answer> =>
  Effect.map(Defects, (tell) =>
    answeringAt(["/metrics", "/stats/prometheus"], (request, response) => {
      metrics
        .scrape()
        .then(({ contentType, text }) => plain(response, 200, text, contentType))
        .catch(failing(tell, request))
    })
  )

export const admin = (controls: Controls): Effect.Effect<Answer, never, Scope.Scope> =>
  Effect.gen(function* () {
    const tell = yield* Defects
    const context = yield* Effect.context<Scope.Scope>()
    let ready: Answer | undefined
    let loaded: Promise<Answer> | undefined
    const load = async () => {
      const [{ answering }, { adminRoutes }] = await Promise.all([
        import("../../../layers/http-router.ts"),
        import("./admin.ts")
      ])
      ready = await Effect.runPromiseWith(context)(answering(adminRoutes(controls)))
      return ready
    }
    // What could not be read just now, for want of a descriptor say, may be there for the next request.
    const again = (cause: unknown): Promise<never> => {
      loaded = undefined
      return Promise.reject(cause)
    }
    return (request, response) => {
      // At once: what else came in the same packet may be the end of the connection.
      if (ready !== undefined) {
        ready(request, response)
        return
      }
      loaded ??= load().catch(again)
      loaded
        .then((answer) => {
          // Nothing would tell it that the client went away meanwhile.
          if (!response.destroyed) answer(request, response)
        })
        .catch(failing(tell, request))
    }
  })
