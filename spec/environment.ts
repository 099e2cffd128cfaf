/**
 * The environment variables of the process: what each one looks like, what it sets, and what holds without it. Those that
 * stand for a setting win over the configuration file.
 */
import { Redacted, Result, Schema, SchemaTransformation } from "effect"
import type { Environment } from "./config/expand.ts"
import { explain } from "./config/explain.ts"
import type { Problem } from "./config/problem.ts"
import { Duration, formatDuration, HttpUrl, LongString, ShortString } from "./primitives.ts"
import { spanBatchVariables } from "./span-batches.ts"
import { BindAddress } from "./standalone/address.ts"
import { Dns, Hbone, type Settings } from "./standalone/settings.ts"

/** A variable as it is documented. */
export interface Variable {
  /** `X_*` stands for all names that begin so. */
  readonly name: string
  /** What may be written, with its unit. */
  readonly form: string
  /** The setting that it replaces, by its path in the file; absent where there is none. */
  readonly setting: string | undefined
  /** What holds without it and without the setting. */
  readonly fallback: string
  readonly description: string
  /** Whether it holds a credential, which child processes do not inherit. */
  readonly secret: boolean
  /** Reads a value: what becomes of the settings, or what is wrong. */
  readonly read: (text: string) => Result.Result<(settings: Settings) => Settings, string>
}

interface Form<A> {
  readonly schema: Schema.Codec<A, string>
  readonly text: string
  readonly secret?: boolean
}

const flag: Form<boolean> = {
  schema: Schema.Literals(["true", "false"]).pipe(
    Schema.decodeTo(
      Schema.Boolean,
      SchemaTransformation.transform({
        decode: (text: "true" | "false") => text === "true",
        encode: (value): "true" | "false" => (value ? "true" : "false")
      })
    )
  ),
  text: "`true` or `false`"
}

const matching = (pattern: RegExp, expected: string) => Schema.String.check(Schema.isPattern(pattern, { expected }))

const number = (pattern: RegExp, expected: string): Schema.Codec<number, string> =>
  matching(pattern, expected).pipe(
    Schema.decodeTo(Schema.Number, SchemaTransformation.transform({ decode: Number, encode: String }))
  )

const units: Readonly<Record<string, number>> = { "": 1, k: 1e3, M: 1e6, G: 1e9, Ki: 2 ** 10, Mi: 2 ** 20, Gi: 2 ** 30 }

const bytes: Form<number> = {
  schema: matching(/^[1-9][0-9]{0,8}(?:[kMG]|[KMG]i)?$/u, "a size such as 2097152, 2Mi or 500k").pipe(
    Schema.decodeTo(
      Schema.Number,
      SchemaTransformation.transform({
        decode: (text: string) => Number.parseInt(text, 10) * units[text.replace(/^[0-9]+/, "")]!,
        encode: String
      })
    )
  ),
  text: "bytes: `1048576`, `1Mi`"
}

const count: Form<number> = {
  schema: number(/^[1-9][0-9]{0,8}$/u, "a whole number of 1 or more"),
  text: "a whole number, 1 or more"
}
const seconds: Form<number> = { ...count, text: "whole seconds, 1 or more" }
const duration: Form<number> = { schema: Duration, text: "a duration: `10s`, `1h30m`, `250ms`" }
const text: Form<string> = { schema: LongString, text: "text" }
const name: Form<string> = { schema: ShortString, text: "text" }
const url: Form<string> = { schema: HttpUrl, text: "an `http` or `https` URL" }
const address: Form<string> = { schema: BindAddress, text: "`ip:port`, `localhost:port`, `unix:/path` or `off`" }
const directive = "(?:[A-Za-z0-9_./:-]+[=:])?(?:off|error|warn|info|debug|trace)"
const logFilter: Form<string> = {
  schema: matching(
    new RegExp(`^\\s*${directive}(?:\\s*,\\s*${directive})*\\s*$`, "u"),
    "a level (off, error, warn, info, debug, trace), target=level, or several with commas between"
  ),
  text: "a level, `target=level`, or several with commas between"
}
const secret: Form<string> = { ...text, secret: true }
const oneOf = <const L extends ReadonlyArray<string>>(...values: L): Form<L[number]> => ({
  schema: Schema.Literals(values),
  text: values.map((value) => `\`${value}\``).join(", ")
})
const headers: Form<string> = {
  ...text,
  schema: matching(/^\s*(?:\{.*\}|[^=,\s]+=[^,]*(?:,\s*[^=,\s]+=[^,]*)*)\s*$/su, "k=v,k=v or a JSON object"),
  text: "`k=v,k=v`, or a JSON object",
  secret: true
}

const variable = <A>(
  named: string,
  form: Form<A>,
  { setting, fallback = "none" }: { readonly setting?: string; readonly fallback?: string },
  description: string,
  apply: (settings: Settings, value: A) => Settings = (settings) => settings
): Variable => {
  const decode = Schema.decodeUnknownResult(form.schema, { reportInput: false })
  return {
    name: named,
    form: form.text,
    setting,
    fallback,
    description,
    secret: form.secret ?? false,
    read: (value) =>
      Result.mapBoth(decode(value), {
        onSuccess: (decoded) => (settings) => apply(settings, decoded),
        onFailure: ({ issue }) => explain(issue, () => value)[0]?.message ?? "the value is not valid"
      })
  }
}

/** A variable for a setting at the top of `config`. */
const top = <K extends keyof Settings>(
  named: string,
  form: Form<NonNullable<Settings[K]>>,
  key: K,
  fallback: string,
  description: string
): Variable =>
  variable(named, form, { setting: key, fallback }, description, (settings, value) => ({ ...settings, [key]: value }))

const hidden: Form<Redacted.Redacted<string>> = {
  schema: LongString.pipe(
    Schema.decodeTo(
      Schema.Redacted(Schema.String),
      SchemaTransformation.transform({ decode: (value: string) => Redacted.make(value), encode: Redacted.value })
    )
  ),
  text: "text",
  secret: true
}

const sessionKey: Form<string> = {
  schema: matching(/^\s*[0-9A-Fa-f]{64}\s*$/u, "64 hexadecimal digits"),
  text: "64 hexadecimal digits",
  secret: true
}

const noDns = () => Schema.decodeUnknownSync(Dns)({})
const dns = <K extends keyof typeof Dns.Type>(
  named: string,
  form: Form<NonNullable<(typeof Dns.Type)[K]>>,
  key: K,
  fallback: string,
  description: string
): Variable =>
  variable(named, form, { setting: `dns.${key}`, fallback }, description, (settings, value) => ({
    ...settings,
    dns: { ...(settings.dns ?? noDns()), [key]: value }
  }))

const noHbone = () => Schema.decodeUnknownSync(Hbone)({})
const hbone = (
  named: string,
  form: Form<number>,
  key: keyof typeof Hbone.Type,
  fallback: string,
  description: string
): Variable =>
  variable(named, form, { setting: `hbone.${key}`, fallback }, description, (settings, value) => ({
    ...settings,
    hbone: { ...(settings.hbone ?? noHbone()), [key]: value }
  }))

/** What is left of the time until the process is killed: enough to end by itself before. */
const graceful = (grace: number) => Math.max(1, grace > 10 ? grace - 5 : grace - 1) * 1000

const otlpProtocol = oneOf("grpc", "http", "http/protobuf")

/** Every variable. Where two set the same, the later one wins. */
export const variables: ReadonlyArray<Variable> = [
  top(
    "ADMIN_ADDR",
    address,
    "adminAddr",
    "`localhost:15000`",
    "Address of the admin interface; `headgatectl proxy` asks there as well."
  ),
  top("STATS_ADDR", address, "statsAddr", "`[::]:15020`", "Address of the metrics."),
  top("READINESS_ADDR", address, "readinessAddr", "`[::]:15021`", "Address of the readiness check."),
  top("IPV6_ENABLED", flag, "enableIpv6", "`true`", "Whether IPv6 is used."),
  dns(
    "DNS_LOOKUP_FAMILY",
    oneOf("All", "Auto", "V4Preferred", "V4Only", "V6Only"),
    "lookupFamily",
    "`Auto`",
    "Address families that are used."
  ),
  dns("DNS_EDNS0", flag, "edns0", "none", "Whether EDNS(0) is used."),
  variable(
    "RUST_LOG",
    logFilter,
    { setting: "logging.level", fallback: "`info`" },
    "Log level at start.",
    (settings, level) => ({ ...settings, logging: { ...settings.logging, level } })
  ),
  variable(
    "LOG_FORMAT",
    oneOf("text", "json"),
    { setting: "logging.format", fallback: "`text`" },
    "Form of the log lines.",
    (settings, format) => ({ ...settings, logging: { ...settings.logging, format } })
  ),
  variable(
    "TERMINATION_GRACE_PERIOD_SECONDS",
    seconds,
    { setting: "connectionTerminationDeadline" },
    "The time after which the process is killed. Connections may live on for 5 seconds less, for 1 second less where it is 10 or shorter.",
    (settings, grace) => ({ ...settings, connectionTerminationDeadline: graceful(grace) })
  ),
  top(
    "CONNECTION_TERMINATION_DEADLINE",
    duration,
    "connectionTerminationDeadline",
    "`5s`",
    "How long connections may live on after a shutdown was asked for. It wins over TERMINATION_GRACE_PERIOD_SECONDS."
  ),
  top(
    "CONNECTION_MIN_TERMINATION_DEADLINE",
    duration,
    "connectionMinTerminationDeadline",
    "`0s`",
    "How long new connections are still accepted after a shutdown was asked for."
  ),
  top(
    "WORKER_THREADS",
    {
      schema: matching(
        /^[1-9][0-9]{0,4}(?:\.[0-9]{1,3})?%?$/u,
        'a number of threads, or a share of the cores such as "50%"'
      ),
      text: "a number, or a share of the cores: `50%`"
    },
    "workerThreads",
    "`1`",
    "Threads that serve traffic."
  ),
  variable(
    "SESSION_KEY",
    sessionKey,
    { setting: "session.key", fallback: "a key that ends with the process" },
    "AES-256-GCM key of session ids.",
    (settings, key) => ({ ...settings, session: { ...settings.session, key: Redacted.make(key.trim()) } })
  ),
  variable(
    "OIDC_COOKIE_SECRET",
    secret,
    {},
    "Key of the cookies of OpenID Connect; needed wherever that policy is used."
  ),
  variable(
    "UI_READ_ONLY",
    flag,
    { setting: "storage.mode", fallback: "`false`" },
    "`true` lets the user interface change nothing.",
    (settings, readOnly) => (readOnly ? { ...settings, storage: { ...settings.storage, mode: "readOnly" } } : settings)
  ),
  variable(
    "REQUEST_LOG_STORE_BATCH_SIZE",
    count,
    { fallback: "`16384`" },
    "Entries that are written to the request log at once."
  ),
  variable(
    "READY_FD",
    { schema: number(/^[0-9]{1,5}$/u, "a file descriptor"), text: "a file descriptor" },
    {},
    "Closed when the proxy is ready."
  ),
  variable("THREADING_MODE", name, {}, "Kind of the threads that serve traffic."),
  variable("OTLP_ENDPOINT", url, {}, "Where spans are sent; it wins over the two below. `/v1/traces` is appended."),
  variable("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", url, {}, "Where spans are sent, the whole address."),
  variable(
    "OTEL_EXPORTER_OTLP_ENDPOINT",
    url,
    {},
    "Where spans and metrics are sent; `/v1/traces` and `/v1/metrics` are appended."
  ),
  ...["OTLP_HEADERS", "OTEL_EXPORTER_OTLP_TRACES_HEADERS", "OTEL_EXPORTER_OTLP_HEADERS"].map((each) =>
    variable(
      each,
      headers,
      {},
      "Headers of the calls to the collector of spans. The first of these that is set counts."
    )
  ),
  ...["OTLP_PROTOCOL", "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"].map((each) =>
    variable(
      each,
      otlpProtocol,
      { fallback: "`http/protobuf`" },
      "Wire protocol towards the collector of spans. The first of these that is set counts; `grpc` is not available yet."
    )
  ),
  variable(
    "OTEL_TRACES_SAMPLER",
    text,
    { fallback: "`parentbased_always_on`" },
    "Which requests have spans, once an endpoint is named: `always_on`, `always_off`, `traceidratio`, or one of them after `parentbased_`, which follows the client's trace where there is one."
  ),
  variable("OTEL_TRACES_SAMPLER_ARG", text, { fallback: "`1`" }, "The share of `traceidratio`, from 0 to 1."),
  ...spanBatchVariables.map(({ name, schema, most, fallback, description }) =>
    variable(name, { schema, text: `a whole number from 1 to ${most}` }, { fallback }, description)
  ),
  variable("OTEL_SERVICE_NAME", name, { fallback: "`headgate`" }, "Name of this service in spans and metrics."),
  variable("OTEL_RESOURCE_ATTRIBUTES", text, {}, "Further attributes of this service, `k=v,k=v`."),
  variable("POD_NAME", name, {}, "Name of the pod, for spans and expressions."),
  variable("NODE_NAME", name, {}, "Name of the node, for spans."),
  variable("INSTANCE_IP", name, {}, "Address of this instance."),
  variable("LOCALITY", name, {}, "Region, zone and subzone of this instance."),
  top("NAMESPACE", text, "namespace", "none", "Namespace of this proxy, for spans and expressions."),
  top("GATEWAY", text, "gateway", "none", "Gateway of this proxy, for expressions."),
  top("LOCAL_XDS_PATH", text, "localXdsPath", "none", "A file with the configuration of the control plane."),
  top("CLUSTER_ID", name, "clusterId", "`Kubernetes`", "Name of the cluster."),
  top("XDS_ADDRESS", text, "xdsAddress", "none", "Address of the control plane."),
  top("XDS_AUTH_TOKEN", hidden, "xdsAuthToken", "none", "Token for the control plane."),
  variable("XDS_ROOT_CA", text, {}, "Certificate authority of the control plane."),
  variable(
    "XDS_HEADER_*",
    { ...text, secret: true },
    {},
    "A header of the calls to the control plane, by the rest of the name."
  ),
  top("CA_ADDRESS", text, "caAddress", "none", "Address of the certificate authority."),
  top("CA_AUTH_TOKEN", hidden, "caAuthToken", "none", "Token for the certificate authority."),
  variable("CA_ROOT_CA", text, {}, "Certificate authority of the certificate authority's own address."),
  variable(
    "CA_HEADER_*",
    { ...text, secret: true },
    {},
    "A header of the calls to the certificate authority, by the rest of the name."
  ),
  top("TRUST_DOMAIN", text, "trustDomain", "none", "Trust domain of this proxy."),
  top(
    "ADDITIONAL_TRUST_DOMAINS",
    text,
    "additionalTrustDomains",
    "none",
    "Further trust domains, separated by commas."
  ),
  top(
    "SKIP_VALIDATE_TRUST_DOMAIN",
    flag,
    "skipValidateTrustDomain",
    "none",
    "Whether the trust domain of peers is left unchecked."
  ),
  top("SERVICE_ACCOUNT", text, "serviceAccount", "none", "Service account of this proxy."),
  top("NETWORK", text, "network", "none", "Network of this proxy."),
  variable(
    "DYNAMIC_CA_CERT_CACHE_TTL",
    duration,
    { fallback: `\`${formatDuration(300_000)}\`` },
    "How long certificates that were made for a client are kept."
  ),
  variable("DYNAMIC_CA_CERT_CACHE_CAPACITY", count, { fallback: "`256`" }, "How many of them are kept."),
  hbone("HTTP2_STREAM_WINDOW_SIZE", bytes, "windowSize", "`4Mi`", "Flow-control window of a stream in a mesh tunnel."),
  hbone(
    "HTTP2_CONNECTION_WINDOW_SIZE",
    bytes,
    "connectionWindowSize",
    "`16Mi`",
    "Flow-control window of its connection."
  ),
  hbone("HTTP2_FRAME_SIZE", bytes, "frameSize", "`1Mi`", "Its largest frame."),
  hbone(
    "POOL_MAX_STREAMS_PER_CONNECTION",
    count,
    "poolMaxStreamsPerConn",
    "`100`",
    "Streams of one of its connections."
  ),
  hbone(
    "POOL_UNUSED_RELEASE_TIMEOUT",
    duration,
    "poolUnusedReleaseTimeout",
    "`5m0s`",
    "How long an unused one is kept."
  )
]

/** The variables that are set, of which the prefixes may be set several times. */
const setIn = function* (env: Environment): Generator<readonly [variable: Variable, name: string, value: string]> {
  for (const variable of variables) {
    const { name } = variable
    const names = name.endsWith("*") ? Object.keys(env).filter((each) => each.startsWith(name.slice(0, -1))) : [name]
    for (const each of names) {
      const value = Object.hasOwn(env, each) ? env[each] : undefined
      // As in a shell script: a variable that is set to nothing is not set.
      if (value !== undefined && value !== "") yield [variable, each, value]
    }
  }
}

export interface Overrides {
  /** The settings of a file, with what the environment says instead. */
  readonly apply: (settings: Settings) => Settings
  /** What is wrong, by the name of the variable; values are never told. */
  readonly problems: ReadonlyArray<Problem>
}

/** Reads the environment. */
export const overrides = (env: Environment): Overrides => {
  const changes: Array<(settings: Settings) => Settings> = []
  const problems: Array<Problem> = []
  for (const [variable, name, value] of setIn(env)) {
    const read = variable.read(value)
    if (Result.isSuccess(read)) changes.push(read.success)
    else
      problems.push({
        file: "environment",
        line: 1,
        column: 1,
        path: name,
        message: read.failure,
        severity: "error",
        code: "environment"
      })
  }
  return { apply: (settings) => changes.reduce((changed, change) => change(changed), settings), problems }
}
