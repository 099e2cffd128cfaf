/**
 * A policy that decides like one of the proxy's own: it looks for a credential where the configuration says, asks a server about it, reads and
 * leaves slots, judges by a pattern and an expression, and writes what it found into the JSON of the body.
 */
import { Data, Effect, Exit, Result } from "effect"
import {
  bearer,
  CelExpression,
  type ContentFailure,
  CredentialLocation,
  challengeFor,
  compileCredential,
  compileExpression,
  compilePattern,
  contentReadings,
  credentialReadings,
  decided,
  defaulted,
  expressionReadings,
  HttpFetch,
  HttpUrl,
  jsonText,
  KeyBearer,
  next,
  object,
  optional,
  policy,
  readContent,
  required,
  ShortString,
  type StageError,
  slot,
  slots,
  Unreadable,
  type Verdict
} from "headgate/policy"

class NotEntitled
  extends Data.TaggedError("NotEntitled")<{
    readonly status: 401 | 403
    readonly headers: ReadonlyArray<string>
  }>
  implements StageError
{
  readonly source = "client"
  readonly reason = "Entitlement"
  override readonly message = "not entitled"
}

class PlansUnknown extends Data.TaggedError("PlansUnknown") implements StageError {
  readonly status = 503
  readonly source = "proxy"
  override readonly message = "nobody can tell who is entitled"
}

/** What the account has bought, for policies that come later. */
export const planOf = slot<string>()("plan")

export const EntitlementConfig = object(
  "Entitlement",
  "Admits accounts that have a plan, and tells the backend which.",
  {
    location: defaulted(CredentialLocation, bearer, "Where the key of the account stands."),
    accounts: required(ShortString, "Keys that can be keys at all: a regular expression in RE2 syntax."),
    plans: required(HttpUrl, "Answers with the plan of the account whose key it is sent, as JSON."),
    unless: optional(CelExpression, "Nobody is asked for a key where this is true.")
  }
)

export const entitlement = policy({
  name: "entitlement",
  traceKey: "entitlement",
  schema: EntitlementConfig,
  sites: ["route"],
  responds: [],
  reads: [slots.credentialHeaders, ...slots.expressionSlots],
  writes: [slots.credentialHeaders, slots.apiKey, planOf],
  outcomes: ["next", "fail"],
  failsClosed: [
    ...credentialReadings("entitlement"),
    ...contentReadings("entitlement"),
    ...expressionReadings("entitlement")
  ],
  maturity: { status: "alpha", untrusted: "client" },
  decides: "access",
  admitsAnyone: ({ unless }) => unless !== undefined,
  expressions: ({ unless }) => (unless === undefined ? [] : [{ source: unless, path: ["unless"], effect: "allow" }]),
  compile: (config, { site }) =>
    Effect.gen(function* () {
      const { fetch } = yield* HttpFetch
      const credential = yield* compileCredential(config.location, site, ["location"])
      const accounts = compilePattern(config.accounts)
      if (Result.isFailure(accounts)) return yield* Effect.fail([{ path: ["accounts"], message: accounts.failure }])
      const unless = config.unless === undefined ? undefined : yield* compileExpression(config.unless, site, ["unless"])
      const asks = ["www-authenticate", challengeFor(config.location)]
      const unnamed = Exit.fail(new NotEntitled({ status: 401, headers: asks }))
      const refused = Exit.fail(new NotEntitled({ status: 403, headers: [] }))

      const planFor = (key: string): Effect.Effect<string | undefined, PlansUnknown> =>
        fetch({ method: "POST", url: config.plans, body: key, timeout: 1000 }).pipe(
          Effect.mapError(() => new PlansUnknown()),
          Effect.map(({ status, body }) => {
            const text = new TextDecoder().decode(body)
            const members = status === 200 ? jsonText.objectText(text) : undefined
            return jsonText.stringIn(text, members && jsonText.member(members, "plan"))
          })
        )

      return [
        {
          name: "entitlement",
          phase: "request",
          run: (x) => {
            const spared = unless === undefined ? false : decided(unless, x.variables)
            if (spared instanceof Unreadable) return Exit.fail(spared)
            if (spared === true) return next
            const key = credential.read(x)
            if (key instanceof Unreadable) return Exit.fail(key)
            if (key === undefined) return unnamed
            if (!accounts.success.matches(key)) return refused
            const subject = x.get(slots.jwt)?.claims["sub"]
            return Effect.flatMap(planFor(key), (plan): Effect.Effect<Verdict, NotEntitled | ContentFailure> => {
              if (plan === undefined) return refused
              return Effect.map(readContent(x), (body) => {
                const text = new TextDecoder().decode(body)
                const members = jsonText.objectText(text)
                if (members !== undefined) {
                  const entries = [["plan", JSON.stringify(plan)]] as const
                  const edits = jsonText.settingMembers(jsonText.skipSpace(text, 0), members, entries)
                  const edited = new TextEncoder().encode(jsonText.edited(text, edits))
                  x.requestBody = edited
                  x.request.headers.set("content-length", String(edited.length))
                }
                credential.remove(x)
                x.set(slots.apiKey, new KeyBearer({ plan, subject }, key))
                x.set(planOf, plan)
                return undefined
              })
            })
          }
        }
      ]
    })
})
