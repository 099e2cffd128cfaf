/**
 * cors: answers preflights before anybody asks for a credential, and marks the answers that a browser may show to the
 * page. The headers go on every answer, a refusal too, else the page could not read why it was refused.
 */
import { Effect } from "effect"
import { HeaderList, next, policy, respond } from "../../src/policy/policy.ts"
import { compileOrigins } from "./origins.ts"
import { Cors } from "./schema.ts"

export const cors = policy({
  name: "cors",
  traceKey: "cors",
  schema: Cors,
  sites: ["gateway", "route"],
  responds: [],
  reads: [],
  writes: [],
  outcomes: ["next", "respond"],
  maturity: { status: "stable", untrusted: "client" },
  compile: (config) =>
    Effect.suspend(() => {
      const { admits, invalid } = compileOrigins(config.allowOrigins)
      if (invalid.length > 0)
        return Effect.fail(
          invalid.map((index) => ({
            path: ["allowOrigins", index],
            message: "expected *, or an origin as https://example.com or https://*.example.com:8443"
          }))
        )
      const methods = listed(config.allowMethods)
      const headers = listed(config.allowHeaders)
      const exposed = config.exposeHeaders.length > 0 ? config.exposeHeaders.join(",") : undefined
      const maxAge = config.maxAge === undefined ? undefined : String(Math.floor(config.maxAge / 1000))
      const mark = (list: HeaderList, origin: string) => {
        list.set("access-control-allow-origin", origin)
        if (config.allowCredentials) list.set("access-control-allow-credentials", "true")
        if (exposed !== undefined) list.set("access-control-expose-headers", exposed)
        // The answer depends on the origin that asked (Fetch, 3.2.5).
        list.set("vary", "Origin")
      }
      return Effect.succeed([
        {
          name: "cors",
          phase: "request",
          run: (x) => {
            const { request } = x
            const origin = request.headers.get("origin")
            if (origin === undefined) return next
            const asked = request.headers.get("access-control-request-method")
            const preflight = request.method === "OPTIONS" && asked !== undefined && asked !== ""
            if (!admits(origin))
              return preflight ? respond({ status: 200, headers: new HeaderList(), body: undefined }) : next
            if (request.method !== "OPTIONS") {
              mark(x.answerHeaders, origin)
              return next
            }
            const answer = new HeaderList()
            mark(answer, origin)
            const method = methods ?? asked ?? (config.allowCredentials ? undefined : "*")
            if (method !== undefined) answer.set("access-control-allow-methods", method)
            const wanted = request.headers.get("access-control-request-headers")
            const header =
              headers ??
              (wanted === undefined ? undefined : tidied(wanted)) ??
              (config.allowCredentials ? undefined : "*")
            if (header !== undefined) answer.set("access-control-allow-headers", header)
            if (maxAge !== undefined) answer.set("access-control-max-age", maxAge)
            return respond({ status: 200, headers: answer, body: undefined })
          }
        }
      ])
    })
})

/** The list as a header value; `undefined` when it holds the wildcard, so that what was asked for is echoed. */
const listed = (list: ReadonlyArray<string>): string | undefined =>
  list.includes("*") ? undefined : list.join(",") || undefined

const tidied = (value: string): string =>
  value
    .split(",")
    .map((name) => name.trim())
    .filter((name) => name !== "")
    .join(", ")
