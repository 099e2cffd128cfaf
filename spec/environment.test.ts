import { assert, describe, it } from "@effect/vitest"
import { Redacted } from "effect"
import { overrides, variables } from "./environment.ts"
import { defaultSettings, type Settings } from "./standalone/settings.ts"

const read = (name: string, value: string) => {
  const { apply, problems } = overrides({ [name]: value })
  return problems[0] === undefined ? apply(defaultSettings()) : `${problems[0].path}: ${problems[0].message}`
}

const key = "0a".repeat(32)

const good: ReadonlyArray<readonly [name: string, value: string, of: (settings: Settings) => unknown, is: unknown]> = [
  ["ADMIN_ADDR", "off", (s) => s.adminAddr, "off"],
  ["STATS_ADDR", "127.0.0.1:9", (s) => s.statsAddr, "127.0.0.1:9"],
  ["READINESS_ADDR", "unix:/run/ready", (s) => s.readinessAddr, "unix:/run/ready"],
  ["IPV6_ENABLED", "false", (s) => s.enableIpv6, false],
  ["DNS_LOOKUP_FAMILY", "V4Only", (s) => s.dns, { lookupFamily: "V4Only" }],
  ["DNS_EDNS0", "true", (s) => s.dns, { lookupFamily: "Auto", edns0: true }],
  ["RUST_LOG", "info, mcp.stdio=debug,a::b=off", (s) => s.logging?.level, "info, mcp.stdio=debug,a::b=off"],
  ["LOG_FORMAT", "json", (s) => s.logging?.format, "json"],
  ["TERMINATION_GRACE_PERIOD_SECONDS", "30", (s) => s.connectionTerminationDeadline, 25_000],
  ["TERMINATION_GRACE_PERIOD_SECONDS", "11", (s) => s.connectionTerminationDeadline, 6000],
  ["TERMINATION_GRACE_PERIOD_SECONDS", "10", (s) => s.connectionTerminationDeadline, 9000],
  ["TERMINATION_GRACE_PERIOD_SECONDS", "1", (s) => s.connectionTerminationDeadline, 1000],
  ["CONNECTION_TERMINATION_DEADLINE", "1m30s", (s) => s.connectionTerminationDeadline, 90_000],
  ["CONNECTION_MIN_TERMINATION_DEADLINE", "250ms", (s) => s.connectionMinTerminationDeadline, 250],
  ["WORKER_THREADS", "50%", (s) => s.workerThreads, "50%"],
  ["SESSION_KEY", ` ${key}\n`, (s) => Redacted.value(s.session!.key), key],
  ["UI_READ_ONLY", "true", (s) => s.storage, { mode: "readOnly" }],
  ["UI_READ_ONLY", "false", (s) => s.storage, undefined],
  ["CLUSTER_ID", "one", (s) => s.clusterId, "one"],
  ["XDS_AUTH_TOKEN", "hush", (s) => Redacted.value(s.xdsAuthToken!), "hush"],
  ["SKIP_VALIDATE_TRUST_DOMAIN", "true", (s) => s.skipValidateTrustDomain, true],
  ["HTTP2_FRAME_SIZE", "1Mi", (s) => s.hbone?.frameSize, 1_048_576],
  ["HTTP2_STREAM_WINDOW_SIZE", "65536", (s) => s.hbone?.windowSize, 65_536],
  ["POOL_MAX_STREAMS_PER_CONNECTION", "7", (s) => s.hbone?.poolMaxStreamsPerConn, 7],
  ["POOL_UNUSED_RELEASE_TIMEOUT", "5s", (s) => s.hbone?.poolUnusedReleaseTimeout, 5000],
  ["OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf", () => true, true],
  ["OTEL_BSP_SCHEDULE_DELAY", "3600000", () => true, true],
  ["OTLP_HEADERS", '{"a":"b"}', () => true, true],
  ["XDS_HEADER_TENANT", "a", () => true, true],
  ["ADMIN_ADDR", "", (s) => s.adminAddr, "localhost:15000"]
]

const bad: ReadonlyArray<readonly [name: string, value: string, told: string]> = [
  ["ADMIN_ADDR", "example.com:80", "ADMIN_ADDR: expected ip:port, localhost:port, unix:/path or off"],
  ["IPV6_ENABLED", "yes", 'IPV6_ENABLED: expected one of "true", "false"'],
  ["LOG_FORMAT", "pretty", 'LOG_FORMAT: expected one of "text", "json"'],
  [
    "DNS_LOOKUP_FAMILY",
    "V4only",
    'DNS_LOOKUP_FAMILY: expected one of "All", "Auto", "V4Preferred", "V4Only", "V6Only"; did you mean "V4Only"?'
  ],
  [
    "RUST_LOG",
    "loud",
    "RUST_LOG: expected a level (off, error, warn, info, debug, trace), target=level, or several with commas between"
  ],
  ["TERMINATION_GRACE_PERIOD_SECONDS", "30s", "TERMINATION_GRACE_PERIOD_SECONDS: expected a whole number of 1 or more"],
  ["TERMINATION_GRACE_PERIOD_SECONDS", "0", "TERMINATION_GRACE_PERIOD_SECONDS: expected a whole number of 1 or more"],
  [
    "CONNECTION_TERMINATION_DEADLINE",
    "30",
    "CONNECTION_TERMINATION_DEADLINE: expected a duration such as 10s, 1h30m or 250ms"
  ],
  ["WORKER_THREADS", "0", 'WORKER_THREADS: expected a number of threads, or a share of the cores such as "50%"'],
  ["SESSION_KEY", "hush", "SESSION_KEY: expected 64 hexadecimal digits"],
  ["HTTP2_FRAME_SIZE", "big", "HTTP2_FRAME_SIZE: expected a size such as 2097152, 2Mi or 500k"],
  [
    "OTEL_EXPORTER_OTLP_PROTOCOL",
    "http/json",
    'OTEL_EXPORTER_OTLP_PROTOCOL: expected one of "grpc", "http", "http/protobuf"'
  ],
  ["OTEL_BSP_SCHEDULE_DELAY", "5s", "OTEL_BSP_SCHEDULE_DELAY: expected a whole number from 1 to 3600000"],
  ["OTEL_BSP_EXPORT_TIMEOUT", "99999999", "OTEL_BSP_EXPORT_TIMEOUT: expected a whole number from 1 to 3600000"],
  ["OTEL_BSP_MAX_QUEUE_SIZE", "0", "OTEL_BSP_MAX_QUEUE_SIZE: expected a whole number from 1 to 1000000"],
  ["OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "-1", "OTEL_BSP_MAX_EXPORT_BATCH_SIZE: expected a whole number from 1 to 1000000"],
  ["OTLP_ENDPOINT", "collector:4317", "OTLP_ENDPOINT: expected an http or https URL"],
  ["OTLP_HEADERS", "hush", "OTLP_HEADERS: expected k=v,k=v or a JSON object"],
  ["READY_FD", "three", "READY_FD: expected a file descriptor"]
]

describe("the environment", () => {
  for (const [name, value, of, is] of good)
    it(`takes ${name}=${JSON.stringify(value)}`, () => {
      const settings = read(name, value)
      if (typeof settings === "string") return assert.fail(settings)
      assert.deepStrictEqual(of(settings), is)
    })

  for (const [name, value, told] of bad)
    it(`refuses ${name}=${JSON.stringify(value)}`, () => assert.strictEqual(read(name, value), told))

  it("wins over the settings of a file, and leaves alone what it does not name", () => {
    const file: Settings = {
      ...defaultSettings(),
      namespace: "file",
      gateway: "file",
      dns: { lookupFamily: "V6Only", edns0: false }
    }
    const settings = overrides({ NAMESPACE: "env", DNS_EDNS0: "true" }).apply(file)
    assert.deepStrictEqual(settings, { ...file, namespace: "env", dns: { lookupFamily: "V6Only", edns0: true } })
  })

  it("prefers the deadline that is said outright to the one that follows from the grace period", () => {
    const env = { CONNECTION_TERMINATION_DEADLINE: "3s", TERMINATION_GRACE_PERIOD_SECONDS: "60" }
    assert.strictEqual(overrides(env).apply(defaultSettings()).connectionTerminationDeadline, 3000)
  })

  it("tells everything that is wrong, and no value", () => {
    const { problems } = overrides({ SESSION_KEY: "hush", OTLP_HEADERS: "hush", LOG_FORMAT: "hush", OTHER: "hush" })
    assert.deepStrictEqual(problems.map(({ path }) => path).sort(), ["LOG_FORMAT", "OTLP_HEADERS", "SESSION_KEY"])
    assert.notInclude(JSON.stringify(problems), "hush")
  })

  it("names every variable once", () => {
    const names = variables.map(({ name }) => name)
    assert.strictEqual(new Set(names).size, names.length)
  })
})
