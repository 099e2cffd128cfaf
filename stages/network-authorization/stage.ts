/** networkAuthorization: lets a connection be made or not, by rules over its client. */
import { Data, Effect, Exit } from "effect"
import { compileRules, next, plainRulingOf, policy, type StageError, type Unreadable } from "../../src/policy/policy.ts"
import { NetworkAuthorization } from "./schema.ts"

/** The rules do not let the connection be made. Its client is told nothing. */
export class ConnectionNotAuthorized extends Data.TaggedError("ConnectionNotAuthorized")<{}> implements StageError {
  readonly status = 403
  readonly reason = "Authorization"
  readonly source = "client"
  override get message() {
    return "network authorization failed"
  }
}

export const networkAuthorization = policy({
  name: "networkAuthorization",
  traceKey: "networkAuthorization",
  schema: NetworkAuthorization,
  sites: ["connection"],
  responds: [],
  reads: [],
  writes: [],
  outcomes: ["next", "fail"],
  maturity: { status: "stable", untrusted: "client" },
  compile: ({ rules }) =>
    Effect.map(compileRules(rules, "network", ["rules"]), (compiled) => {
      const denied = Exit.fail(new ConnectionNotAuthorized())
      return [
        {
          name: "networkAuthorization",
          phase: "request",
          run: (x): Exit.Exit<undefined, ConnectionNotAuthorized | Unreadable> => {
            const ruling = plainRulingOf(compiled, x)
            return ruling === "allow" ? next : ruling === "deny" ? denied : Exit.fail(ruling)
          }
        }
      ]
    })
})
