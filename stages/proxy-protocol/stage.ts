/** proxyProtocol: who the client is, told by the balancer before it. */
import { listenerPolicy } from "../../src/policy/connection.ts"
import { ProxyProtocol } from "./schema.ts"

const versions = { v1: [1], v2: [2], all: [1, 2] } as const

export const proxyProtocol = listenerPolicy({
  name: "proxyProtocol",
  schema: ProxyProtocol,
  maturity: { status: "stable", untrusted: "client" },
  compile: ({ version, mode }) => ({
    proxyProtocol: { versions: versions[version], required: mode === "strict" }
  })
})
