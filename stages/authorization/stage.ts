/** authorization: lets a request pass or not, by rules over everything that is known of it. */
import { Data, Effect, Exit } from "effect"
import {
  type ContentFailure,
  compileRules,
  contentReadings,
  expressionReadings,
  next,
  pathReadings,
  policy,
  rulingOf,
  type StageError,
  slots,
  type Unreadable,
  type Verdict,
  type View
} from "../../src/policy/policy.ts"
import { Authorization } from "./schema.ts"

/** The rules do not let the request pass. Which of them is for the trace, not for the client. */
export class NotAuthorized extends Data.TaggedError("NotAuthorized")<{}> implements StageError {
  readonly status = 403
  readonly reason = "Authorization"
  readonly source = "client"
  override get message() {
    return "authorization failed"
  }
}

export const authorization = policy({
  name: "authorization",
  traceKey: "authorization",
  schema: Authorization,
  sites: ["gateway", "route", "backend"],
  responds: [],
  reads: slots.expressionSlots,
  writes: [],
  outcomes: ["next", "fail"],
  failsClosed: [
    ...contentReadings("authorization"),
    ...expressionReadings("authorization"),
    ...pathReadings("authorization")
  ],
  maturity: { status: "stable", untrusted: "client" },
  compile: ({ rules }, { site }) =>
    Effect.map(compileRules(rules, site, ["rules"]), (compiled) => {
      const denied = Exit.fail(new NotAuthorized())
      const decide = (x: View<never, never>): Exit.Exit<Verdict, NotAuthorized | Unreadable> => {
        const ruling = rulingOf(compiled, x)
        return ruling === "allow" ? next : ruling === "deny" ? denied : Exit.fail(ruling)
      }
      const { prepare } = compiled
      return [
        {
          name: "authorization",
          phase: "request",
          run: (x): Effect.Effect<Verdict, NotAuthorized | ContentFailure> =>
            prepare === undefined ? decide(x) : Effect.flatMapEager(prepare(x), () => decide(x))
        }
      ]
    })
})
