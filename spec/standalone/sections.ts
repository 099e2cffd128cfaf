/** The `mcp` and `ui` sections, and what holds for all connections: `frontendPolicies`. */

import { Schema } from "effect"
import { Connect } from "../connection/connect.ts"
import { CipherSuite, KeyExchangeGroup, TlsVersion } from "../connection/crypto.ts"
import { Keepalives } from "../connection/tcp.ts"
import { defaulted, exclusive, object, optional, withAliases } from "../field.ts"
import { ByteSize, Duration, PortNumber, PositiveCount, TimeLimit } from "../primitives.ts"
import { mcpAliases, mcpFields, mcpRules } from "./mcp.ts"
import { type Policies, type PolicySpecs, policiesAt, policyFields } from "./policies.ts"
import { gatewayRefs } from "./route.ts"

/** The `mcp` section. */
export const mcpSchema = (RoutePolicies: Schema.Codec<Policies, Readonly<Record<string, unknown>>>) =>
  withAliases(
    object(
      "Mcp",
      "A gateway for MCP servers, which appear as one.",
      {
        gateways: gatewayRefs,
        port: optional(PortNumber, "A port of its own; 3000 when there is no gateway to attach to."),
        ...mcpFields,
        policies: optional(RoutePolicies, "Policies of the route to the servers.")
      },
      ...mcpRules,
      exclusive("gateways", "port", "mcp.gateways cannot be used with mcp.port")
    ),
    mcpAliases
  )

/** The `ui` section. */
export const uiSchema = (specs: PolicySpecs) =>
  object("Ui", "Serves the user interface on a gateway, where a policy can protect it.", {
    gateways: gatewayRefs,
    policies: optional(
      policiesAt(specs, "ui", "UiPolicies", "Policies of the user interface."),
      "Policies of the user interface."
    )
  })

const between = (minimum: number, maximum: number) =>
  Schema.isBetween({ minimum, maximum }, { expected: `${minimum} to ${maximum} bytes` })

const Http2Window = ByteSize.check(between(1, 2_147_483_647))

const FrontendHttp = object("FrontendHttp", "HTTP towards clients.", {
  maxBufferSize: defaulted(ByteSize, 2_097_152, "The largest body that is buffered where a policy must read it."),
  paths: defaulted(
    Schema.Literals(["normalised", "raw"]),
    "normalised",
    "What becomes of the path of a request. `normalised`: unreserved characters are decoded, dot segments removed (encoded ones too) and repeated slashes merged, and that form is matched, logged and forwarded; an encoded slash stays in its segment, and a request is refused with 400 where decoding it would change its route or a decision. `raw`: it is matched, logged and forwarded as it came, for clients that sign it; a backend may then take it for another path than the gateway did."
  ),
  http1MaxHeaders: optional(PositiveCount, "Most headers of a request; 100 when left out."),
  http1IdleTimeout: defaulted(
    TimeLimit,
    "10m0s",
    "How long a connection may wait for the next request, and how long a client may neither send of a body that is read nor take of one that is sent. A request that stops halfway is answered with 408. Bodies that move are never cut; see the policy `timeout` for that."
  ),
  http1HeaderTimeout: optional(
    TimeLimit,
    "How long the head of a request may take from its first byte on; then it is answered with 408. When left out, a minute, or `http1IdleTimeout` where that is shorter."
  ),
  stallTimeout: optional(
    TimeLimit,
    "How long a client may take nothing of an answer that waits for it; then its connection is cut, and the backend let go. When left out, a minute, or `http1IdleTimeout` where that is shorter."
  ),
  http1HeaderCase: defaulted(
    Schema.Literals(["lowercase", "preserve"]),
    "lowercase",
    "Case of header names that are passed on."
  ),
  http2WindowSize: optional(
    Http2Window,
    "How much of a body a client may send before somebody takes it (the flow-control window of a stream). When left out it begins with 64 KiB and grows with bodies that are taken as fast as they come, to 2 MiB."
  ),
  http2ConnectionWindowSize: optional(
    ByteSize.check(between(65_535, 2_147_483_647)),
    "The same of all bodies of a connection. When left out it grows to 4 MiB."
  ),
  http2FrameSize: optional(
    ByteSize.check(between(16_384, 16_777_215)),
    "Largest frame that clients may send; 16 KiB when left out."
  ),
  http2MaxHeaderSize: optional(
    ByteSize.check(between(1024, 65_536)),
    "Most bytes of the fields of a request, 32 for each of them included; 64 KiB when left out. A request with more is ended without an answer."
  ),
  http2KeepaliveInterval: optional(Duration, "Time between pings; none when left out."),
  http2KeepaliveTimeout: optional(
    Duration,
    "How long a ping may stay unanswered, then the connection is closed; 20s when left out."
  ),
  maxConnectionDuration: optional(Duration, "How long a connection lives before it is closed gracefully.")
})

const FrontendTls = object("FrontendTls", "TLS towards clients, on all listeners that say nothing else themselves.", {
  handshakeTimeout: defaulted(TimeLimit, "15s", "How long a handshake may take, from the moment of the connection on."),
  alpn: optional(
    Schema.Array(
      Schema.Array(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 255 }, { expected: "a byte, 0 to 255" })))
    ),
    "Protocols to offer, each a list of bytes; `h2` and `http/1.1` when left out."
  ),
  minVersion: optional(TlsVersion, "Lowest version to speak; 1.2 when left out. Below 1.2 nothing is spoken."),
  maxVersion: optional(TlsVersion, "Highest version to speak; 1.3 when left out."),
  cipherSuites: optional(Schema.Array(CipherSuite), "Cipher suites to offer, best first; all there are when left out."),
  keyExchangeGroups: optional(
    Schema.Array(KeyExchangeGroup),
    "Key exchange groups to offer, best first; those of the runtime when left out."
  )
})

const FrontendTcp = object("FrontendTcp", "TCP towards clients.", {
  keepalives: optional(Keepalives, "Keep-alive probes; left out, they are sent with their defaults."),
  idleTimeout: optional(
    Duration,
    "For how long nothing may move on a connection of a TCP or TLS listener, in either direction; any time when left out."
  )
})

/** The `frontendPolicies` section. */
export const frontendSchema = (specs: PolicySpecs): Schema.Codec<Frontend, unknown> => {
  const frontend = object("FrontendPolicies", "What holds for the connections of all listeners.", {
    http: optional(FrontendHttp, "HTTP towards clients."),
    tls: optional(FrontendTls, "TLS towards clients."),
    tcp: optional(FrontendTcp, "TCP towards clients."),
    connect: optional(Connect, "What happens with CONNECT requests."),
    ...policyFields(specs, "frontend")
  })
  const aliases = Object.entries(specs).flatMap(([name, { alias }]) =>
    alias === undefined ? [] : [[alias, name as "http"]]
  )
  return withAliases(frontend, Object.fromEntries(aliases))
}

/** The decoded section, without the policies on it. */
export interface Frontend {
  readonly http?: typeof FrontendHttp.Type
  readonly tls?: typeof FrontendTls.Type
  readonly tcp?: typeof FrontendTcp.Type
  readonly connect?: typeof Connect.Type
}

/** The decoded `mcp` section. */
export type Mcp = ReturnType<typeof mcpSchema>["Type"]
/** The decoded `ui` section. */
export type Ui = ReturnType<typeof uiSchema>["Type"]
