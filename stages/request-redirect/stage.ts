/** requestRedirect: sends the client elsewhere instead of calling a backend. */
import { Effect, Exit } from "effect"
import {
  FilterFailed,
  HeaderList,
  policy,
  respond,
  rewriteAuthority,
  rewritePath,
  type Scheme
} from "../../src/policy/policy.ts"
import { RequestRedirect } from "./schema.ts"

export const requestRedirect = policy({
  name: "requestRedirect",
  traceKey: "requestRedirect",
  schema: RequestRedirect,
  sites: ["route", "backend"],
  responds: [],
  reads: [],
  writes: [],
  outcomes: ["respond", "fail"],
  maturity: { status: "stable", untrusted: "client" },
  compile: (config) =>
    Effect.suspend(() => {
      const explicit = config.scheme?.toLowerCase()
      if (explicit !== undefined && explicit !== "http" && explicit !== "https")
        return Effect.fail([{ path: ["scheme"], message: "expected http or https" }])
      const noPrefix = Exit.fail(
        new FilterFailed({ detail: "prefix redirect on a route that was not matched by a path prefix" })
      )
      return Effect.succeed([
        {
          name: "requestRedirect",
          phase: "request",
          outcomes: config.path?.prefix === undefined ? ["respond"] : ["respond", "fail"],
          run: (x) => {
            const scheme: Scheme = explicit ?? x.request.scheme
            const authority = rewriteAuthority(x.request.authority, config.authority, scheme, explicit !== undefined)
            const path =
              config.path === undefined ? x.request.pathAndQuery : rewritePath(x.request, config.path, x.matchedPrefix)
            if (path === undefined) return noPrefix
            // An asterisk is no path: it would end the name of the server.
            const headers = new HeaderList(["location", `${scheme}://${authority}${path === "*" ? "" : path}`])
            return respond({ status: config.status, headers, body: undefined })
          }
        }
      ])
    })
})
