/** jwtAuth: believes a JSON Web Token that a trusted issuer signed, and makes its claims known to all that follows. */
import { Effect, Exit, Result } from "effect"
import {
  type ConfigProblem,
  compileCredential,
  credentialReadings,
  makeTokenVerifier,
  next,
  noToken,
  openKeySet,
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
  compile: ({ mode, location, preserveToken, written, providers }, at) =>
    Effect.gen(function* () {
      const credential = yield* compileCredential(location, at.site, ["location"], preserveToken)
      const issuers: Array<TokenIssuer> = []
      const problems: Array<ConfigProblem> = []
      for (const [index, provider] of providers.entries()) {
        const part = written === "flat" ? ["jwks"] : ["providers", index, "jwks"]
        const keys = yield* Effect.result(openKeySet(provider.jwks, at, part))
        if (Result.isSuccess(keys)) issuers.push({ ...provider, keys: keys.success })
        else problems.push(...keys.failure)
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
