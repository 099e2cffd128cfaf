/** Routes of Effect's HTTP server as a listener of node's, for what needs streams, schemas and fibers. */
import { NodeHttpServer } from "@effect/platform-node"
import { Effect, type Layer, type Scope } from "effect"
import { HttpRouter } from "effect/http"
import type { Answer } from "./management-server.ts"

/** Requests run until the scope closes. */
export const answering = (
  routes: Layer.Layer<never, never, HttpRouter.HttpRouter>
): Effect.Effect<Answer, never, Scope.Scope> =>
  Effect.gen(function* () {
    const handler = yield* HttpRouter.toHttpEffect(routes)
    return yield* NodeHttpServer.makeHandler(handler, { scope: yield* Effect.scope })
  })
