/** backendAuth: shows credentials to a backend: a key of the configuration, or the token that the client was recognised by. */
import { Effect, Exit } from "effect"
import {
  type BackendAuthFailed,
  compileBackendCredential,
  next,
  policy,
  slots,
  type Verdict
} from "../../src/policy/policy.ts"
import { BackendAuth } from "./schema.ts"

export const backendAuth = policy({
  name: "backendAuth",
  traceKey: "backendAuth",
  schema: BackendAuth,
  sites: ["backend"],
  responds: [],
  reads: [slots.jwt],
  writes: [slots.shownCredentials],
  outcomes: ["next", "fail"],
  maturity: { status: "stable", untrusted: "client" },
  compile: (config) =>
    Effect.map(compileBackendCredential(config), ({ passesToken, inQuery, write, shown }) => [
      {
        name: "backendAuth",
        phase: "request",
        outcomes: inQuery ? ["next", "fail"] : ["next"],
        reads: passesToken ? [slots.jwt] : [],
        run: (x): Exit.Exit<Verdict, BackendAuthFailed> => {
          const client = passesToken ? x.get(slots.jwt) : undefined
          const failure = write(x.request, client)
          if (failure !== undefined) return Exit.fail(failure)
          const found = shown(client)
          if (found !== undefined) x.set(slots.shownCredentials, found)
          return next
        }
      }
    ])
})
