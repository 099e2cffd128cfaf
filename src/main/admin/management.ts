/**
 * The management servers and what they answer. Loaded with the first of them that is on: a proxy that has none needs no
 * HTTP server of Effect's.
 */
import { Effect, Layer } from "effect"
import { HttpRouter, HttpServerResponse } from "effect/http"
import type { Metrics } from "../../services/metrics.ts"

export { serveManagement } from "../../../layers/management-server.ts"
export { adminRoutes } from "./admin.ts"

/** Whether requests should be sent here. */
export interface Readiness {
  readonly pending: Set<string>
  draining: boolean
}

export const readiness = (state: Readiness) =>
  Layer.mergeAll(
    HttpRouter.add("*", "/healthz/ready", ({ method }) =>
      Effect.sync(() => {
        if (method !== "GET") return HttpServerResponse.empty({ status: 405, headers: { allow: "GET" } })
        if (state.draining) return HttpServerResponse.text("not ready, draining\n", { status: 503 })
        if (state.pending.size === 0) return HttpServerResponse.text("ready\n")
        return HttpServerResponse.text(`not ready, pending: ${[...state.pending].sort().join(", ")}\n`, { status: 500 })
      })
    )
  )

export const scrape = (metrics: Metrics["Service"]) => {
  const answer = Effect.map(
    Effect.promise(() => metrics.scrape()),
    ({ contentType, text }) => HttpServerResponse.text(text, { contentType })
  )
  return Layer.mergeAll(HttpRouter.add("*", "/metrics", answer), HttpRouter.add("*", "/stats/prometheus", answer))
}
