import { assert, describe, it } from "@effect/vitest"
import { Redacted, Result, Schema } from "effect"
import { SecretFileOrInline } from "./content.ts"
import { defaulted, object, optional, required, withAliases } from "./field.ts"
import { ByteSize, Bytes, Duration, formatDuration, RefillInterval } from "./primitives.ts"
import { formatAddress, HostPort, TargetHost } from "./target.ts"

const decode = <A, I>(schema: Schema.Codec<A, I>, input: unknown) => {
  const result = Schema.decodeUnknownResult(schema, { errors: "all", onExcessProperty: "error" })(input)
  return Result.isSuccess(result) ? result.success : "refused"
}

describe("primitives", () => {
  it("durations are those of Go, without a sign", () => {
    const table: ReadonlyArray<readonly [string, unknown]> = [
      ["1h2m3.5s", 3_723_500],
      ["250ms", 250],
      ["0", 0],
      ["1.5h", 5_400_000],
      [".5s", 500],
      ["10us", 0.01],
      ["10µs", 0.01],
      ["0s", 0],
      ["-1s", "refused"],
      ["5", "refused"],
      ["5 s", "refused"],
      ["1d", "refused"],
      ["", "refused"],
      ["1s2", "refused"]
    ]
    for (const [text, expected] of table) assert.strictEqual(decode(Duration, text), expected, text)
  })

  it("durations are printed the way they are written", () => {
    for (const text of ["1h2m3.5s", "250ms", "0s", "1m0s", "1h0m0s", "10s", "59m59.999s"])
      assert.strictEqual(formatDuration(decode(Duration, text) as number), text)
  })

  it("a refill takes seconds, minutes and hours, and more than nothing", () => {
    assert.strictEqual(decode(RefillInterval, "1h30m"), 5_400_000)
    for (const text of ["250ms", "1d", "0", "0s", "0.0h"])
      assert.strictEqual(decode(RefillInterval, text), "refused", text)
  })

  it("sizes are bytes or quantities", () => {
    const table: ReadonlyArray<readonly [unknown, unknown]> = [
      [0, 0],
      [2097152, 2097152],
      ["2Mi", 2097152],
      ["500k", 500_000],
      ["1Gi", 2 ** 30],
      ["12", 12],
      [-1, "refused"],
      [1.5, "refused"],
      ["2MB", "refused"],
      ["k", "refused"]
    ]
    for (const [input, expected] of table) assert.strictEqual(decode(ByteSize, input), expected, String(input))
  })

  it("bytes are text or a list", () => {
    assert.deepStrictEqual(decode(Bytes, [104, 105]), Uint8Array.of(104, 105))
    assert.strictEqual(decode(Bytes, "hi"), "hi")
    assert.strictEqual(decode(Bytes, [256]), "refused")
  })

  it("addresses are hosts with a port, or sockets", () => {
    const tcp = (host: string, port: number, tls = false) => ({ kind: "tcp" as const, host, port, tls })
    const table: ReadonlyArray<readonly [string, unknown]> = [
      ["example.com:80", tcp("example.com", 80)],
      ["127.0.0.1:8080", tcp("127.0.0.1", 8080)],
      ["[::1]:80", tcp("::1", 80)],
      ["my_service:65535", tcp("my_service", 65_535)],
      ["unix:/run/x.sock", { kind: "unix", path: "/run/x.sock" }],
      ["example.com", "refused"],
      ["example.com:0", "refused"],
      ["example.com:65536", "refused"],
      [":80", "refused"],
      ["http://example.com", "refused"],
      ["a b:80", "refused"],
      ["unix:", "refused"],
      ["user@host:80", "refused"]
    ]
    for (const [text, expected] of table) assert.deepStrictEqual(decode(HostPort, text), expected, text)
    assert.deepStrictEqual(decode(TargetHost, "https://example.com"), tcp("example.com", 443, true))
    assert.deepStrictEqual(decode(TargetHost, "http://example.com:81"), tcp("example.com", 81))
    assert.deepStrictEqual(decode(TargetHost, "example.com:82"), tcp("example.com", 82))
    for (const text of ["https://example.com/v1", "ftp://example.com", "https://", "example.com"])
      assert.strictEqual(decode(TargetHost, text), "refused", text)
    assert.strictEqual(formatAddress(decode(HostPort, "[::1]:80") as never), "[::1]:80")
  })

  it("credentials cannot be printed", () => {
    const secret = decode(SecretFileOrInline, "hush")
    assert.isTrue(Redacted.isRedacted(secret))
    assert.notInclude(JSON.stringify(secret), "hush")
    assert.deepStrictEqual(decode(SecretFileOrInline, { file: "/run/key" }), { file: "/run/key" })
  })
})

describe("fields", () => {
  const Thing = object("Thing", "A thing.", {
    must: required(Duration, "Must."),
    may: optional(Duration, "May."),
    has: defaulted(Duration, "5s", "Has.")
  })

  it("descriptions and defaults reach the JSON Schema", () => {
    const { definitions } = Schema.toJsonSchemaDocument(Schema.toEncoded(Thing))
    const described = (description: string, more = {}) => ({
      allOf: [{ $ref: "#/$defs/Duration" }, { description, ...more }]
    })
    assert.deepStrictEqual(definitions["Thing"]?.["properties"], {
      must: described("Must."),
      may: described("May."),
      has: described("Has.", { default: "5s" })
    })
  })

  it("a second name is read as the first one", () => {
    const schema = withAliases(Thing, { might: "may" })
    assert.deepStrictEqual(decode(schema, { must: "1s", might: "2s" }), { must: 1000, may: 2000, has: 5000 })
    assert.strictEqual(decode(schema, { must: "1s", might: "2s", may: "3s" }), "refused")
    assert.strictEqual(decode(schema, { must: "1s", might: "x" }), "refused")
  })
})
