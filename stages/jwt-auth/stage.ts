/** jwtAuth: believes a JSON Web Token that a trusted issuer signed, and makes its claims known to all that follows. */
import { Effect, Exit, Result } from "effect"
import {
  type ConfigProblem,
  compileCredential,
  credentialReadings,
  Jwks,
  makeTokenVerifier,
  next,
  noToken,
  policy,
  slots,
  type TokenFailure,
  type TokenIssuer,
  Unreadable,
  type Verdict
} from "../../src/policy/policy.ts"
import { JwtAuth } from "./schema.ts"

export const jwtAuth = policy({
  name: "jwtAuth",
  traceKey: "jwt",
  schema: JwtAuth,
  sites: ["gateway", "route"],
  responds: [],
  reads: [slots.credentialHeaders],
  writes: [slots.credentialHeaders, slots.jwt],
  outcomes: ["next", "fail"],
  failsClosed: credentialReadings("jwtAuth"),
  maturity: { status: "stable", untrusted: "client" },
  compile: ({ mode, location, preserveToken, providers }, { site }) =>
    Effect.gen(function* () {
      const credential = yield* compileCredential(location, site, ["location"], preserveToken)
      const jwks = yield* Jwks
      const issuers: Array<TokenIssuer> = []
      const problems: Array<ConfigProblem> = []
      for (const [index, provider] of providers.entries()) {
        const keys = yield* Effect.result(jwks.open(provider.jwks))
        if (Result.isSuccess(keys)) issuers.push({ ...provider, keys: keys.success })
        else {
          const path = providers.length === 1 ? ["jwks"] : ["providers", index, "jwks"]
          problems.push({ path, message: keys.failure.message })
        }
      }
      if (problems.length > 0) return yield* Effect.fail(problems)
      const verify = makeTokenVerifier(issuers)
      const missing = mode === "strict" ? noToken : next

      return [
        {
          name: "jwtAuth",
          phase: "request",
          run: (x): Effect.Effect<Verdict, TokenFailure | Unreadable> => {
            const token = credential.read(x)
            if (token === undefined) return missing
            if (token instanceof Unreadable) return mode === "permissive" ? next : Exit.fail(token)
            const accepted = Effect.flatMapEager(verify(token, x.now), (bearer) => {
              if (!preserveToken) credential.remove(x)
              x.set(slots.jwt, bearer)
              const subject = bearer.claims["sub"]
              if (typeof subject === "string") x.fact("jwt.sub", subject)
              return next
            })
            if (mode !== "permissive") return accepted
            return Effect.catchEager(accepted, (failure) => {
              x.note("jwtAuth", `token ignored: ${failure.message}`)
              return next
            })
          }
        }
      ]
    })
})
