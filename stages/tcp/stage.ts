/** tcp: within what time connections to a backend must stand, and how their silence is probed. */
import { Effect } from "effect"
import { connectionPolicy, probesOf } from "../../src/policy/connection.ts"
import { Tcp } from "./schema.ts"

export const tcp = connectionPolicy({
  name: "tcp",
  schema: Tcp,
  maturity: { status: "stable", untrusted: "none" },
  compile: ({ connectTimeout, keepalives }) =>
    Effect.succeed({ connectTimeout, probes: keepalives && probesOf(keepalives) })
})
