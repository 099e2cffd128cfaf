/** A policy of someone else's: it knows the tenant of a request by a header, and asks a directory of its own about it. */
import { Context, Data, Effect, Schema } from "effect"
import {
  defaulted,
  HeaderList,
  next,
  object,
  optional,
  policy,
  required,
  respond,
  type StageError,
  slot
} from "headgate/policy"

export interface Tenant {
  readonly name: string
  readonly suspended: boolean
}

export class DirectoryDown extends Data.TaggedError("DirectoryDown")<{}> implements StageError {
  readonly status = 503
  readonly source = "proxy"
  override get message() {
    return "the tenant directory does not answer"
  }
}

/** Port: who is a tenant. */
export class Tenants extends Context.Service<
  Tenants,
  { readonly find: (key: string) => Effect.Effect<Tenant | undefined, DirectoryDown> }
>()("tenants/Tenants") {}

export class UnknownTenant extends Data.TaggedError("UnknownTenant")<{ readonly key: string }> implements StageError {
  readonly status = 403
  readonly source = "client"
  override get message() {
    return "unknown tenant"
  }
}

/** Who sends the request, for policies that come later. */
export const tenantOf = slot<Tenant>()("tenant")

export const TenantConfig = object("Tenant", "Admits requests of known tenants.", {
  header: required(Schema.Literals(["x-tenant", "x-a"]), "The header that names the tenant."),
  failureMode: defaulted(
    Schema.Literals(["failClosed", "failOpen"]),
    "failClosed",
    "What happens while the directory does not answer."
  ),
  notice: optional(Schema.String, "What suspended tenants are told.")
})

export const tenant = policy({
  name: "tenant",
  traceKey: "tenant",
  schema: TenantConfig,
  sites: ["route"],
  responds: [],
  reads: [],
  writes: [tenantOf],
  outcomes: ["next", "respond", "fail"],
  maturity: { status: "alpha", untrusted: "client" },
  failOpen: (config) => config.failureMode === "failOpen",
  compile: (config) =>
    Effect.gen(function* () {
      const tenants = yield* Tenants
      const notice = config.notice ?? "suspended"
      return [
        {
          name: "tenant",
          phase: "request",
          run: (x) => {
            const key = x.request.headers.get(config.header)
            if (key === undefined) return next
            return Effect.flatMapEager(tenants.find(key), (found) => {
              if (found === undefined) return Effect.fail(new UnknownTenant({ key }))
              if (found.suspended) return respond({ status: 402, headers: new HeaderList(), body: notice })
              x.set(tenantOf, found)
              x.request.headers.set("x-tenant-name", found.name)
              return next
            })
          }
        }
      ]
    })
})

/** What a later policy makes of the tenant: it only works behind the first one. */
export const tenantGreeting = policy({
  name: "tenantGreeting",
  traceKey: "tenantGreeting",
  schema: object("TenantGreeting", "Greets the tenant.", {}),
  sites: ["route"],
  responds: ["response"],
  reads: [tenantOf],
  writes: [],
  outcomes: ["next"],
  maturity: { status: "alpha", untrusted: "none" },
  compile: (_) =>
    Effect.sync(() => [
      {
        name: "tenantGreeting",
        phase: "response",
        run: (x) => {
          const known = x.get(tenantOf)
          if (known !== undefined) x.answerHeaders.set("x-greeting", `hello ${known.name}`)
          return next
        }
      }
    ])
})
