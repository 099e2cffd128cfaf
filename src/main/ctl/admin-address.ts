/** Which proxy a command asks: one on this machine by the port of its admin interface, else the one that the environment names. */
import { Effect, Option, Schema } from "effect"
import { Flag } from "effect/cli"
import { parseAdminAddress } from "../../../layers/admin-address.ts"
import type { Address } from "../../../layers/http/address.ts"
import { Unable } from "./failure.ts"

/** A TCP port. */
export const port = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 65_535 }))

export const adminPort = Flag.Int("proxy-admin-port").pipe(
  Flag.withSchema(port),
  Flag.optional,
  Flag.withDescription(
    "Port of the proxy's admin interface on this machine; default: ADMIN_ADDR of the environment, as for the proxy, else 15000."
  )
)

/** Where the proxy is asked. What the proxy's own environment says is true of the proxy only if the tool shares it. */
export const adminAddress = (chosen: Option.Option<number>): Effect.Effect<Address, Unable> =>
  localAddress("ADMIN_ADDR", "localhost:15000", Option.getOrUndefined(chosen))

/** The same, of any of the proxy's own servers: a port of this machine, else what the environment or the default says. */
export const localAddress = (
  variable: "ADMIN_ADDR" | "READINESS_ADDR",
  otherwise: string,
  chosen: number | undefined
): Effect.Effect<Address, Unable> => {
  if (chosen !== undefined) return Effect.succeed({ _tag: "Tcp", host: "127.0.0.1", port: chosen })
  const address = parseAdminAddress(process.env[variable] || otherwise)
  if (typeof address === "object") return Effect.succeed(address)
  return Effect.fail(
    new Unable({
      detail: address === undefined ? `${variable} is off: the proxy cannot be asked` : `${variable}: ${address}`
    })
  )
}
