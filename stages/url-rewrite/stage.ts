/** urlRewrite: changes the path and the authority that the backend sees. */
import { Effect, Exit } from "effect"
import {
  FilterFailed,
  next,
  octetsOf,
  type PathFault,
  type PathReplacement,
  policy,
  readTarget,
  rewriteAuthority,
  rewritePath,
  slots,
  type Unreadable,
  unreadable,
  type Verdict
} from "../../src/policy/policy.ts"
import { UrlRewrite } from "./schema.ts"

export const urlRewrite = policy({
  name: "urlRewrite",
  traceKey: "urlRewrite",
  schema: UrlRewrite,
  sites: ["route"],
  responds: [],
  reads: [],
  writes: [slots.authorityRewritten],
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
          writes: authority === undefined || authority === "auto" ? [] : [slots.authorityRewritten],
          run: (x): Exit.Exit<Verdict, FilterFailed | Unreadable> => {
            if (path !== undefined) {
              const rewritten = rewritePath(x.request, path, x.matchedPrefix)
              if (rewritten === undefined) return noPrefix
              if (x.request.moveTo(rewritten) !== undefined) return noPath
            }
            // `auto` is what happens anyway: the backend's own name.
            if (authority !== undefined && authority !== "auto") {
              x.request.authority = rewriteAuthority(x.request.authority, authority, x.request.scheme, true)
              x.set(slots.authorityRewritten, true)
            }
            return next
          }
        }
      ])
    })
})

/** The new path, or the new beginning of it, in the form in which it is forwarded. */
const normalised = (rewrite: PathReplacement): PathReplacement | PathFault => {
  const written = "full" in rewrite ? rewrite.full : rewrite.prefix
  const read = readTarget(octetsOf(written.startsWith("/") ? written : `/${written}`))
  if ("fault" in read) return read
  return "full" in rewrite ? { full: read.path } : { prefix: read.path }
}
