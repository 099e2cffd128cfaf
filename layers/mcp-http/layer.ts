/** The port `McpHttp`: its client is loaded when a configuration has a target behind HTTP. */
import { Effect, Layer, type Scope } from "effect"
import { McpHttp } from "../../src/services/mcp-http.ts"
import type { McpHttpOptions } from "./client.ts"

/** Connections are kept alive between sessions and end with the scope. */
export const layer = (options: Partial<McpHttpOptions> = {}): Layer.Layer<McpHttp> =>
  Layer.effect(
    McpHttp,
    Effect.gen(function* () {
      const services = yield* Effect.context<Scope.Scope>()
      const made = Effect.flatMap(
        Effect.promise(() => import("./client.ts")),
        ({ makeClient }) => makeClient(options)
      )
      return { client: yield* Effect.cached(Effect.provideContext(made, services)) }
    })
  )
