/** urlRewrite: changes the path and the authority that the backend sees. */
import { Effect, Exit } from "effect"
import { rewriteAuthority, rewritePath } from "../../src/http/rewrite.ts"
import { FilterFailed } from "../../src/pipeline/errors.ts"
import { authorityRewritten } from "../../src/pipeline/slots.ts"
import { next, policy } from "../../src/pipeline/stage.ts"
import { UrlRewrite } from "./schema.ts"

export const urlRewrite = policy({
  name: "urlRewrite",
  traceKey: "urlRewrite",
  schema: UrlRewrite,
  sites: ["route"],
  responds: [],
  reads: [],
  writes: [authorityRewritten],
  outcomes: ["next", "fail"],
  maturity: { status: "stable", untrusted: "client" },
  compile: (config) =>
    Effect.sync(() => {
      const { path, authority } = config
      const noPrefix = Exit.fail(
        new FilterFailed({ detail: "prefix rewrite on a route that was not matched by a path prefix" })
      )
      return [
        {
          name: "urlRewrite",
          phase: "request",
          run: (x) => {
            const rewritten =
              path === undefined ? x.request.pathAndQuery : rewritePath(x.request, path, x.matchedPrefix)
            if (rewritten === undefined) return noPrefix
            x.request.pathAndQuery = rewritten
            // `auto` is what happens anyway: the backend's own name.
            if (authority !== undefined && authority !== "auto") {
              x.request.authority = rewriteAuthority(x.request.authority, authority, x.request.scheme, false)
              x.set(authorityRewritten, true)
            }
            return next
          }
        }
      ]
    })
})
