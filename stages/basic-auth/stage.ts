/** basicAuth: recognises users by name and password (RFC 7617), and takes both out of the request. */
import { Data, Effect, Exit, Redacted } from "effect"
import {
  challenge,
  compileCredential,
  credentialReadings,
  Files,
  formatPath,
  next,
  Passwords,
  type PasswordsBusy,
  type PasswordUser,
  policy,
  type StageError,
  slots,
  Unreadable,
  type Verdict
} from "../../src/policy/policy.ts"
import { BasicAuth } from "./schema.ts"

/** There are no name and password, or they are not those of a user. */
export class BasicAuthRefused
  extends Data.TaggedError("BasicAuthRefused")<{
    readonly detail: "no basic authentication credentials found" | "invalid credentials"
    /** 407 where they are looked for as those for a proxy. */
    readonly status: 401 | 407
    readonly headers: ReadonlyArray<string>
  }>
  implements StageError
{
  readonly reason = "BasicAuth"
  readonly source = "client"
  override get message() {
    return `basic authentication failure: ${this.detail}`
  }
}

export const basicAuth = policy({
  name: "basicAuth",
  traceKey: "basicAuth",
  schema: BasicAuth,
  sites: ["gateway", "route"],
  responds: [],
  reads: [slots.credentialHeaders],
  writes: [slots.credentialHeaders, slots.basicAuth],
  outcomes: ["next", "fail"],
  failsClosed: credentialReadings("basicAuth"),
  maturity: { status: "stable", untrusted: "client" },
  compile: ({ mode, htpasswd, realm, authorizationLocation: location }, { site, path }) =>
    Effect.gen(function* () {
      const credential = yield* compileCredential(location, site, ["authorizationLocation"])
      const files = yield* Files
      const list = Redacted.isRedacted(htpasswd)
        ? Redacted.value(htpasswd)
        : yield* Effect.mapError(files.read(htpasswd.file), ({ message }) => [{ path: ["htpasswd"], message }])
      const users = yield* Effect.flatMap(Passwords, (passwords) =>
        passwords.open(list, formatPath([...path, "htpasswd"]))
      )
      const isProxys = location.header?.name.toLowerCase() === "proxy-authorization"
      const asked = [isProxys ? "proxy-authenticate" : "www-authenticate", challenge("Basic", { realm })]
      const refuse = (detail: BasicAuthRefused["detail"]) =>
        Exit.fail(new BasicAuthRefused({ detail, status: isProxys ? 407 : 401, headers: asked }))
      const missing = mode === "strict" ? refuse("no basic authentication credentials found") : next
      const invalid = refuse("invalid credentials")
      return [
        {
          name: "basicAuth",
          phase: "request",
          run: (x): Effect.Effect<Verdict, BasicAuthRefused | PasswordsBusy | Unreadable> => {
            const shown = credential.read(x)
            if (shown === undefined) return missing
            if (shown instanceof Unreadable) return Exit.fail(shown)
            const settle = (user: PasswordUser | false): Exit.Exit<Verdict, BasicAuthRefused> => {
              if (user === false) return invalid
              credential.remove(x)
              x.set(slots.basicAuth, user)
              return next
            }
            const known = users.known(shown)
            return known === undefined ? Effect.flatMap(users.check(shown), settle) : settle(known)
          }
        }
      ]
    })
})
