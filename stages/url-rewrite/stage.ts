/** urlRewrite: changes the path and the authority that the backend sees. */
import { Effect, Exit } from "effect"
import { octetsOf, type PathFault, readTarget } from "../../src/http/path.ts"
import { type PathRewrite, rewriteAuthority, rewritePath } from "../../src/http/rewrite.ts"
import { FilterFailed, type Unreadable, unreadable } from "../../src/pipeline/errors.ts"
import { authorityRewritten } from "../../src/pipeline/slots.ts"
import { next, policy, type Verdict } from "../../src/pipeline/stage.ts"
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
  compile: ({ path: written, authority }) =>
    Effect.suspend(() => {
      const path = written === undefined ? undefined : normalised(written)
      if (path !== undefined && "fault" in path)
        return Effect.fail([{ path: ["path"], message: `no path to rewrite to: ${path.fault}` }])
      const noPrefix = Exit.fail(
        new FilterFailed({ detail: "prefix rewrite on a route that was not matched by a path prefix" })
      )
      // Only where paths stay as received: what is added to a normal one is normal.
      const noPath = Exit.fail(unreadable.path)
      return Effect.succeed([
        {
          name: "urlRewrite",
          phase: "request",
          outcomes: path === undefined ? ["next"] : ["next", "fail"],
          writes: authority === undefined || authority === "auto" ? [] : [authorityRewritten],
          run: (x): Exit.Exit<Verdict, FilterFailed | Unreadable> => {
            if (path !== undefined) {
              const rewritten = rewritePath(x.request, path, x.matchedPrefix)
              if (rewritten === undefined) return noPrefix
              if (x.request.moveTo(rewritten) !== undefined) return noPath
            }
            // `auto` is what happens anyway: the backend's own name.
            if (authority !== undefined && authority !== "auto") {
              x.request.authority = rewriteAuthority(x.request.authority, authority, x.request.scheme, true)
              x.set(authorityRewritten, true)
            }
            return next
          }
        }
      ])
    })
})

/** The new path, or the new beginning of it, in the form in which it is forwarded. */
const normalised = (rewrite: PathRewrite): PathRewrite | PathFault => {
  const written = "full" in rewrite ? rewrite.full : rewrite.prefix
  const read = readTarget(octetsOf(written.startsWith("/") ? written : `/${written}`))
  if ("fault" in read) return read
  return "full" in rewrite ? { full: read.path } : { prefix: read.path }
}
