/** What accepts connections: the named gateways, and the raw form of binds with listeners. */
import { Schema } from "effect"
import { CipherSuite, KeyExchangeGroup, TlsVersion } from "../connection/crypto.ts"
import { defaulted, hinted, object, optional, required, withAliases } from "../field.ts"
import { LongString, PortNumber, ShortString } from "../primitives.ts"
import { Hostname } from "../target.ts"
import { ListenAddress } from "./address.ts"
import { misplaced, type PolicySpecs, policiesAt, policyFields } from "./policies.ts"
import type { routeSchemas } from "./route.ts"

const ServerTlsForm = object(
  "ServerTls",
  "TLS towards clients. Files that are replaced hold for new connections, without a reload; where what is new cannot be used, what was there before stays.",
  {
    mode: defaulted(
      Schema.Literals(["static", "dynamicCa"]),
      "static",
      "`static` serves the given certificate; `dynamicCa` treats it as an authority and issues a certificate for each name asked for."
    ),
    cert: optional(
      LongString,
      "Path of the certificate chain, PEM, the certificate of the server first; watched. With `dynamicCa` that of the authority."
    ),
    key: optional(LongString, "Path of the private key, PEM, without a passphrase; watched."),
    root: optional(
      LongString,
      "Path of the authorities of client certificates, PEM; watched. With it a client must present one, unless `clientCertificates` says otherwise."
    ),
    clientCertificates: optional(
      Schema.Literals(["required", "optional", "none"]),
      "Whether clients present a certificate of `root`: they must, they may, or they are not asked. One that is presented must be valid in any case. `required` when left out and `root` is given, else `none`."
    ),
    spiffe: optional(Schema.Struct({}), "Take the certificate from the Workload API of SPIFFE."),
    cipherSuites: optional(
      Schema.Array(CipherSuite),
      "Cipher suites to offer, best first; those of `frontendPolicies.tls` when left out, else all there are."
    ),
    minTLSVersion: optional(
      TlsVersion,
      "Lowest version to speak; that of `frontendPolicies.tls` when left out, else 1.2. Below 1.2 nothing is spoken."
    ),
    maxTLSVersion: optional(
      TlsVersion,
      "Highest version to speak; that of `frontendPolicies.tls` when left out, else 1.3."
    ),
    keyExchangeGroups: optional(
      Schema.Array(KeyExchangeGroup),
      "Key exchange groups to offer, best first; those of `frontendPolicies.tls` when left out, else those of the runtime."
    )
  },
  {
    check: (tls) => {
      if ("spiffe" in tls) return "cert" in tls || "key" in tls ? "spiffe excludes cert and key" : undefined
      if (!("cert" in tls && "key" in tls)) return "cert and key are both required"
      if (!("root" in tls) && (tls.clientCertificates ?? "none") !== "none")
        return { path: ["clientCertificates"], issue: "needs root: the authorities of client certificates" }
      return "root" in tls && tls.mode === "dynamicCa"
        ? { path: ["root"], issue: "cannot be used with mode dynamicCa" }
        : undefined
    },
    jsonSchema: {
      anyOf: [
        { required: ["spiffe"], not: { anyOf: [{ required: ["cert"] }, { required: ["key"] }] } },
        {
          required: ["cert", "key"],
          not: {
            anyOf: [
              { required: ["spiffe"] },
              { required: ["root", "mode"], properties: { mode: { const: "dynamicCa" } } },
              {
                required: ["clientCertificates"],
                properties: { clientCertificates: { enum: ["required", "optional"] } },
                not: { required: ["root"] }
              }
            ]
          }
        }
      ]
    }
  }
)

/** TLS towards clients. */
export const ServerTls = withAliases(ServerTlsForm, { minTlsVersion: "minTLSVersion", maxTlsVersion: "maxTLSVersion" })

const GatewayProtocol = Schema.Literals(["HTTP", "HTTPS", "TCP", "TLS"]).annotate({
  identifier: "GatewayProtocol",
  description: "What a listener speaks. `TLS` without a certificate passes the connection through by its server name."
})

const ListenerProtocol = Schema.Literals(["HTTP", "HTTPS", "TLS", "TCP", "HBONE"]).annotate({
  identifier: "ListenerProtocol",
  description: "What a listener speaks."
})

const TunnelProtocol = Schema.Literals(["direct", "hboneWaypoint", "hboneGateway", "proxy", "connect"]).annotate({
  identifier: "TunnelProtocol",
  description: "How connections reach the listeners of a bind: as they are, or out of a tunnel."
})

const address = optional(
  ListenAddress,
  "Where it listens; every address of the machine when left out. With `unix:` no port is opened: `port` is then a name alone."
)

/** The listeners of both forms, with the policies that may stand on them. */
export const listenerSchemas = (specs: PolicySpecs, { Route, TcpRoute }: ReturnType<typeof routeSchemas>) => {
  const onListener = policyFields(specs, "gateway")

  const hints = misplaced(specs, "gateway")

  const GatewayListener = object("GatewayListener", "A listener of a gateway with its policies.", {
    name: optional(ShortString, "Name of the listener; `listener<index>` when left out."),
    hostname: optional(Hostname, "Host names that the listener serves; any when left out."),
    protocol: optional(GatewayProtocol, "What the listener speaks; HTTPS with `tls`, else HTTP, when left out."),
    tls: optional(ServerTls, "TLS towards clients."),
    ...onListener
  })

  const Gateway = object("Gateway", "An entry point: a port, and policies that run before a route is chosen.", {
    port: required(PortNumber, "The port that is listened on."),
    address,
    protocol: optional(GatewayProtocol, "What the gateway speaks; HTTPS with `tls`, else HTTP, when left out."),
    tls: optional(ServerTls, "TLS towards clients."),
    listeners: optional(
      Schema.Array(hinted(GatewayListener, hints)).check(Schema.isMinLength(1, { expected: "at least one listener" })),
      "Several listeners on one port. `protocol`, `tls` and policies then stand on them."
    ),
    ...onListener
  })

  const Listener = object("Listener", "A listener with its routes.", {
    name: optional(ShortString, "Name of the listener; `listener<index>` when left out."),
    namespace: optional(ShortString, "Namespace of the listener."),
    hostname: optional(Hostname, "Host names that the listener serves; any when left out."),
    protocol: defaulted(ListenerProtocol, "HTTP", "What the listener speaks."),
    tls: optional(ServerTls, "TLS towards clients."),
    routes: optional(Schema.Array(Route), "Routes, for HTTP and HTTPS."),
    tcpRoutes: optional(Schema.Array(TcpRoute), "Routes, for TCP and TLS."),
    policies: optional(
      policiesAt(specs, "gateway", "GatewayPolicies", "Policies that run before a route is chosen."),
      "Policies that run before a route is chosen."
    )
  })

  const BindPort = Schema.Int.check(
    Schema.isBetween({ minimum: 0, maximum: 65_535 }, { expected: "a port between 0 and 65535" })
  ).annotate({ identifier: "BindPort", description: "A TCP port, or 0 for none." })

  const Bind = object("Bind", "A port with its listeners, in raw form.", {
    port: optional(
      BindPort,
      "The port that is listened on. An internal bind without one takes connections to any port."
    ),
    address,
    mode: defaulted(
      Schema.Literals(["standard", "internal"]),
      "standard",
      "`internal` opens no socket: only tunnelled connections reach it."
    ),
    tunnelProtocol: defaulted(TunnelProtocol, "direct", "How connections reach the listeners."),
    listeners: required(Schema.Array(Listener), "The listeners; the host name of a request chooses among them.")
  })

  return { Gateway: hinted(Gateway, hints), Bind }
}

type Schemas = ReturnType<typeof listenerSchemas>

/** Decoded TLS towards clients. */
export type ServerTls = (typeof ServerTls)["Type"]
/** A decoded gateway. */
export type Gateway = Schemas["Gateway"]["Type"]
/** A decoded bind. */
export type Bind = Schemas["Bind"]["Type"]
/** A decoded listener of a bind. */
export type Listener = Bind["listeners"][number]
