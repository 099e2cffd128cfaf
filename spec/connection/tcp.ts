/** TCP settings of connections: keep-alive probes and the time to connect. */
import { Schema } from "effect"
import { defaulted, object, optional } from "../field.ts"
import { Duration, PositiveCount, TimeLimit } from "../primitives.ts"

/** Keep-alive probes of the operating system. */
export const Keepalives = object("Keepalives", "TCP keep-alive probes.", {
  enabled: defaulted(Schema.Boolean, true, "Whether probes are sent."),
  time: defaulted(Duration, "3m0s", "Idle time before the first probe."),
  interval: defaulted(Duration, "3m0s", "Time between probes."),
  retries: defaulted(
    PositiveCount.check(Schema.isLessThanOrEqualTo(64, { expected: "at most 64 probes" })).annotate({
      identifier: "ProbeCount",
      description: "1 to 64."
    }),
    9,
    "Unanswered probes after which a connection counts as broken."
  )
})

/** How connections to a backend are opened. */
export const BackendTcp = object("BackendTcp", "How TCP connections to a backend are opened.", {
  keepalives: optional(Keepalives, "Keep-alive probes."),
  connectTimeout: optional(
    TimeLimit,
    "Time to connect: name, TCP, tunnel and TLS together. That of `config.backend` when left out, which is 10s by default."
  )
})
