/** The `config` section: settings of the process, read once at start (the model catalogue alone is reloaded). */
import { Schema } from "effect"
import { Keepalives } from "../connection/tcp.ts"
import { redacted, Secret } from "../content.ts"
import { defaulted, hinted, object, optional, required } from "../field.ts"
import { HeaderName } from "../header.ts"
import { ByteSize, CelExpression, Duration, LongString, PositiveCount, ShortString, TimeLimit } from "../primitives.ts"
import { BindAddress } from "./address.ts"
import { ModelCatalogSource } from "./catalog.ts"
import { FieldExpressions, Fields, OtlpProtocol, Sampling } from "./telemetry.ts"

export const Dns = object("Dns", "Name resolution.", {
  lookupFamily: defaulted(
    Schema.Literals(["All", "Auto", "V4Preferred", "V4Only", "V6Only"]),
    "Auto",
    "Address families that are used. `Auto` prefers IPv4 where IPv6 is on, and takes IPv4 alone where it is off."
  ),
  edns0: optional(Schema.Boolean, "Whether EDNS(0) is used.")
})

const DatabaseUrl = redacted(
  LongString.annotate({ identifier: "DatabaseUrl", description: "The address of a database; it is never printed." })
)

const Database = object("Database", "A database.", {
  url: required(
    DatabaseUrl,
    "A `postgres://` or `postgresql://` URL; anything else names a SQLite database, `sqlite://<path>`."
  ),
  maxConnections: defaulted(PositiveCount, 5, "Connections of the pool.")
})

const Storage = object("Storage", "How the user interface changes the configuration.", {
  mode: defaulted(
    Schema.Literals(["file", "hybrid", "readOnly"]),
    "file",
    "Where changes made in the user interface go: into the file, into the database (`hybrid`), or nowhere (`readOnly`)."
  )
})

const Session = object("Session", "Sessions of MCP clients.", {
  key: required(
    redacted(
      Schema.String.check(Schema.isPattern(/^[0-9A-Fa-f]{64}$/u, { expected: "64 hexadecimal digits" })).annotate({
        identifier: "SessionKey",
        description: "An AES-256-GCM key, 64 hexadecimal digits.",
        credential: true
      })
    ),
    "Key that encrypts session ids, so that any replica can resume a session. SESSION_KEY in the environment wins."
  )
})

const level = "(?:off|error|warn|info|debug|trace)"
const directive = `\\s*(?:[A-Za-z0-9_./:-]+?[=:])?${level}\\s*`

/** What is logged: a level for everything, or for one target. */
const LogLevel = Schema.String.check(
  Schema.isPattern(new RegExp(`^(?:${directive}|\\s*)(?:,(?:${directive}|\\s*))*$`, "u"), {
    expected: "off, error, warn, info, debug or trace, or target=level, or several of them with commas"
  })
).annotate({ identifier: "LogLevel", description: "A log level, `target=level`, or several with commas." })

const Logging = object("Logging", "The log of the process.", {
  level: optional(
    Schema.Union([LogLevel, Schema.Array(LogLevel)]),
    "Log level at start, in the syntax of the `/logging` endpoint: a level, `target=level`, or several. RUST_LOG in the environment wins; the default is `info`."
  ),
  format: optional(Schema.Literals(["text", "json"]), "Form of the log lines; `text` when left out."),
  database: optional(Database, "Database of the request log, when it is not that of `config.database`."),
  filter: optional(CelExpression, "Deprecated: use `frontendPolicies.accessLog.filter`."),
  fields: optional(Fields, "Deprecated: use `frontendPolicies.accessLog.add` and `remove`.")
})

const Tracing = object("DeprecatedTracing", "Deprecated: use `frontendPolicies.tracing`.", {
  otlpEndpoint: optional(LongString, "Address of the collector."),
  headers: optional(Schema.Record(HeaderName, Schema.String), "Headers of the calls to the collector."),
  otlpProtocol: defaulted(OtlpProtocol, "grpc", "The wire protocol towards the collector."),
  fields: optional(Fields, "Attributes to add and to remove."),
  randomSampling: optional(Sampling, "Share of the requests without a trace that start one."),
  clientSampling: optional(Sampling, "Share of the traces of clients that are continued."),
  path: optional(Schema.String, "Path of the calls, over HTTP.")
})

const Metrics = object("Metrics", "The metrics of the process.", {
  remove: optional(Schema.Array(ShortString), "Metric families to drop."),
  fields: optional(
    Schema.Struct({ add: optional(FieldExpressions, "Labels to add, each an expression.") }),
    "Further labels of the HTTP, model and MCP families."
  )
})

const BackendDefaults = object("BackendDefaults", "Connections to backends, unless a policy says otherwise.", {
  keepalives: defaulted(Keepalives, {}, "Keep-alive probes."),
  connectTimeout: defaulted(TimeLimit, "10s", "Time to connect."),
  poolIdleTimeout: defaulted(Duration, "1m30s", "How long an unused connection is kept."),
  poolMaxSize: optional(
    PositiveCount,
    "Connections to one backend; without bound when left out. MCP servers have no bound: their streams may stay open."
  )
})

export const Hbone = object("Hbone", "Mesh tunnels.", {
  windowSize: defaulted(ByteSize, "4Mi", "Flow-control window of a stream."),
  connectionWindowSize: defaulted(ByteSize, "16Mi", "Flow-control window of a connection."),
  frameSize: defaulted(ByteSize, "1Mi", "Largest frame."),
  poolMaxStreamsPerConn: defaulted(PositiveCount, 100, "Streams of one connection."),
  poolUnusedReleaseTimeout: defaulted(Duration, "5m", "How long an unused connection is kept.")
})

const Overload = object("Overload", "What the process takes on at once; what is beyond it is turned away.", {
  maxConnections: defaulted(
    PositiveCount,
    50_000,
    "Connections of clients to all listeners together. Further ones are closed, without TLS behind an answer of 503."
  ),
  maxConnectionsPerAddress: defaulted(
    PositiveCount,
    20_000,
    "Connections of one IP address, or of one IPv6 network of 64 bits. A balancer in front of the proxy is one address."
  ),
  maxHandshakes: defaulted(
    PositiveCount,
    2_048,
    "Connections of one port whose TLS handshakes are under way. The oldest one makes room for another."
  ),
  maxDelay: defaulted(
    Duration,
    "100ms",
    "How long a request may wait until it is looked at. Where requests wait longer for a third of a second, those that do are answered with 503 and `retry-after` before any policy. `0s`: never."
  )
})

const StandardAttributes = object("StandardAttributes", "Who made a request, for the request log.", {
  user: optional(CelExpression, "The user of a request, for the request log."),
  group: optional(CelExpression, "The group of a request, for the request log.")
})

const WorkerThreads = Schema.Union([
  PositiveCount,
  Schema.String.check(
    Schema.isPattern(/^[1-9][0-9]{0,4}(?:\.[0-9]{1,3})?%?$/u, {
      expected: 'a number of threads, or a share of the cores such as "50%"'
    })
  )
]).annotate({
  identifier: "WorkerThreads",
  description: 'A number of threads, or a share of the processor cores such as `"50%"`, rounded up.'
})

const identity = (what: string) => optional(LongString, `${what} Used in a mesh or under a control plane.`)

/** The whole section. Environment variables of the same meaning win over it. */
export const Settings = hinted(
  object("Settings", "Settings of the process, read once at start.", {
    adminAddr: defaulted(
      BindAddress,
      "localhost:15000",
      "Address of the admin interface, which has no authentication of its own."
    ),
    statsAddr: optional(
      BindAddress,
      "Address of the metrics; `[::]:15020` when left out, `0.0.0.0:15020` without IPv6."
    ),
    readinessAddr: optional(
      BindAddress,
      "Address of the readiness check; `[::]:15021` when left out, `0.0.0.0:15021` without IPv6."
    ),
    enableIpv6: defaulted(Schema.Boolean, true, "Whether IPv6 is used."),
    workerThreads: defaulted(WorkerThreads, 1, "Threads that serve traffic."),
    connectionTerminationDeadline: defaulted(
      Duration,
      "5s",
      "How long connections may live on after a shutdown was asked for."
    ),
    connectionMinTerminationDeadline: defaulted(
      Duration,
      "0s",
      "How long new connections are still accepted after a shutdown was asked for."
    ),
    reloadTerminationDeadline: defaulted(
      Duration,
      "1h",
      "How long streams, upgraded connections and other requests may live on after a reload has replaced their configuration or given up their port; then they are cut."
    ),
    maxTotalBufferSize: defaulted(
      ByteSize,
      268_435_456,
      "Bytes of bodies that the process holds in memory, of all requests together: those that policies or models read whole, those that may have to be sent again, and what guards hold back of streams. Beyond it no body is kept to be sent again, what must be read is answered with 503, and a stream is judged with each piece that comes."
    ),
    overload: defaulted(Overload, {}, "What the process takes on at once; what is beyond it is turned away."),
    logging: optional(Logging, "The log of the process."),
    metrics: optional(Metrics, "The metrics of the process."),
    histograms: defaulted(
      Schema.Literals(["classic", "native", "both"]),
      "classic",
      "Kind of the histograms in the metrics."
    ),
    tracing: optional(Tracing, "Deprecated: use `frontendPolicies.tracing`."),
    dns: optional(Dns, "Name resolution."),
    backend: defaulted(BackendDefaults, {}, "Connections to backends, unless a policy says otherwise."),
    session: optional(Session, "Sessions of MCP clients."),
    mcp: optional(
      Schema.Struct({ sessionTtl: defaulted(Duration, "30m", "Idle time after which a session ends.") }),
      "MCP sessions."
    ),
    modelCatalog: optional(
      Schema.Array(ModelCatalogSource),
      "Prices and formats of models; later sources win. Reloaded without a restart."
    ),
    database: optional(Database, "The database of configuration changes and of the request log."),
    storage: optional(Storage, "How the user interface changes the configuration."),
    standardAttributes: optional(StandardAttributes, "Who made a request, for the request log."),
    sensitiveHeaders: optional(
      Schema.Array(HeaderName),
      "Further headers to hide in logs and traces, beside `authorization` and its kin."
    ),
    customFunctions: optional(Schema.String, "Definitions of functions for all expressions."),
    hbone: optional(Hbone, "Mesh tunnels."),
    localXdsPath: identity("A file with the configuration of the control plane."),
    caAddress: identity("Address of the certificate authority."),
    caAuthToken: optional(Secret, "Token for the certificate authority."),
    xdsAddress: identity("Address of the control plane."),
    xdsAuthToken: optional(Secret, "Token for the control plane."),
    spiffe: optional(
      Schema.Struct({ endpoint: optional(LongString, "Address of the Workload API.") }),
      "Workload identities by SPIFFE."
    ),
    namespace: identity("Namespace of this proxy."),
    gateway: identity("Gateway of this proxy."),
    trustDomain: identity("Trust domain of this proxy."),
    additionalTrustDomains: identity("Further trust domains, separated by commas."),
    skipValidateTrustDomain: optional(Schema.Boolean, "Whether the trust domain of peers is left unchecked."),
    serviceAccount: identity("Service account of this proxy."),
    clusterId: defaulted(ShortString, "Kubernetes", "Name of the cluster."),
    network: identity("Network of this proxy.")
  }),
  { listener: "removed; move to frontendPolicies" }
)

export type Settings = typeof Settings.Type

let made: Settings | undefined

/** The section as it is when a file has none: what makes it is what reads one, so it takes as long. */
export const defaultSettings = (): Settings => {
  made ??= Schema.decodeUnknownSync(Settings)({})
  return made
}
