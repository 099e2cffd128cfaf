/** Which proxy a command asks: one on this machine, by the port of its admin interface. */
import { Schema } from "effect"
import { Flag } from "effect/cli"
import type { Address } from "../../../layers/http/address.ts"

/** A TCP port. */
export const port = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 65_535 }))

export const adminPort = Flag.Int("proxy-admin-port").pipe(
  Flag.withSchema(port),
  Flag.withDefault(15_000),
  Flag.withDescription("Port of the proxy's admin interface; default: 15000.")
)

export const adminAt = (port: number): Address => ({ _tag: "Tcp", host: "127.0.0.1", port })
