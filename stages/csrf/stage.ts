/**
 * csrf: refuses what a page of another site made a browser send. It asks what browsers say by themselves and no page can
 * change; who says nothing of it is no browser, or one that was told nothing to abuse.
 */
import { Data, Effect, Exit } from "effect"
import { next, policy, type RequestHead, type StageError, type Verdict } from "../../src/policy/policy.ts"
import { Csrf } from "./schema.ts"

/** Another site made a browser send it. */
export class CsrfRefused extends Data.TaggedError("CsrfRefused") implements StageError {
  readonly status = 403
  readonly reason = "Authorization"
  readonly source = "client"
  override readonly message = "CSRF validation failed"
}

const refused = Exit.fail(new CsrfRefused())

/** Methods that change nothing (RFC 9110 9.2.1); `TRACE` no browser sends. */
const safe = new Set(["GET", "HEAD", "OPTIONS"])

export const csrf = policy({
  name: "csrf",
  traceKey: "csrf",
  schema: Csrf,
  sites: ["route"],
  responds: [],
  reads: [],
  writes: [],
  outcomes: ["next", "fail"],
  maturity: { status: "stable", untrusted: "client" },
  compile: ({ additionalOrigins }) =>
    Effect.sync(() => {
      const others = new Set<string>(additionalOrigins)
      return [
        {
          name: "csrf",
          phase: "request",
          run: (x): Exit.Exit<Verdict, CsrfRefused> =>
            safe.has(x.request.method) || isOwn(x.request, others) ? next : refused
        }
      ]
    })
})

const isOwn = ({ headers, scheme, authority }: RequestHead, others: ReadonlySet<string>): boolean => {
  const origin = single(headers.getAll("origin"))
  const site = single(headers.getAll("sec-fetch-site"))
  if (site !== undefined)
    return site === "same-origin" || site === "none" || (origin !== undefined && others.has(origin))
  return origin === undefined || origin === "null" || origin === `${scheme}://${authority}` || others.has(origin)
}

/** What a header says; that of several lines is no browser's, and equals nothing that is asked for. */
const single = (lines: ReadonlyArray<string>): string | undefined => (lines.length > 1 ? lines.join(", ") : lines[0])
