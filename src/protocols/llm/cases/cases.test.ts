/**
 * Runs every golden pair of this folder: what comes in, and what must go out. A file holds the cases of one pair of formats; the `…Base`
 * members of a file are merged below every body of that kind, so that a case shows only what it is about.
 */
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Result, Schema } from "effect"
import { parse } from "yaml"
import { clientFormats, upstreamFormats } from "../formats/format.ts"
import { isObject, type JsonObject, parseJson } from "../formats/json.ts"
import type { HeaderLookup, SseEvent, UpstreamEvent } from "../formats/stream.ts"
import type { Call, Quirks } from "../translate/codec.ts"
import { translator } from "../translate/translator.ts"

const Body = Schema.Record(Schema.String, Schema.Unknown)
const Headers = Schema.Record(Schema.String, Schema.String)

const Refusal = Schema.Struct({
  status: Schema.Literals([400, 502]),
  message: Schema.String,
  field: Schema.optionalKey(Schema.String)
})

/** Exactly one of request, response, stream and error is what the case is about; `given` is a request that went before. */
const Case = Schema.Struct({
  name: Schema.String,
  model: Schema.optionalKey(Schema.String),
  quirks: Schema.optionalKey(Body),
  headers: Schema.optionalKey(Headers),
  answerHeaders: Schema.optionalKey(Headers),
  given: Schema.optionalKey(Body),
  request: Schema.optionalKey(Body),
  response: Schema.optionalKey(Schema.Unknown),
  stream: Schema.optionalKey(Schema.Array(Schema.Union([Schema.String, Body]))),
  /** The stream broke instead of ending. */
  aborted: Schema.optionalKey(Schema.Boolean),
  error: Schema.optionalKey(Schema.Struct({ status: Schema.Int, body: Schema.Unknown })),
  expect: Schema.optionalKey(Schema.Unknown),
  usage: Schema.optionalKey(Body),
  refused: Schema.optionalKey(Refusal),
  /** The very same object comes back. */
  same: Schema.optionalKey(Schema.Boolean)
})
type Case = typeof Case.Type

const File = Schema.Struct({
  client: Schema.Literals(clientFormats),
  upstream: Schema.Literals(upstreamFormats),
  requestBase: Schema.optionalKey(Body),
  expectRequestBase: Schema.optionalKey(Body),
  responseBase: Schema.optionalKey(Body),
  expectResponseBase: Schema.optionalKey(Body),
  expectEventBase: Schema.optionalKey(Body),
  cases: Schema.Array(Case)
})
type File = typeof File.Type

const folder = import.meta.dirname
const files = readdirSync(folder)
  .filter((name) => name.endsWith(".yaml"))
  .map((name) => {
    const read = Schema.decodeUnknownResult(File, { onExcessProperty: "error" })(
      parse(readFileSync(join(folder, name), "utf8"))
    )
    return { name, file: Result.getOrThrowWith(read, (error) => new Error(`${name}: ${error.message}`)) }
  })

const lookup =
  (headers: Readonly<Record<string, string>> | undefined): HeaderLookup =>
  (name) =>
    headers?.[name]

const callOf = (test: Case): Call => {
  let drawn = 0
  return {
    model: test.model ?? "m",
    now: 1_700_000_000_123,
    randomHex: (digits) => (++drawn).toString(16).padStart(digits, "0"),
    header: lookup(test.headers)
  }
}

/** A case takes a member of the base away by setting it to null. */
const merged = (base: JsonObject | undefined, body: unknown): unknown => {
  if (!isObject(body) || base === undefined) return body
  const taken = (key: string) => body[key] === null && (base[key] ?? null) !== null
  return Object.fromEntries(Object.entries({ ...base, ...body }).filter(([key]) => !taken(key)))
}

/** A body as it looks on the wire: a member that is not written is no member. */
const written = (value: unknown): unknown => {
  const text = JSON.stringify(value)
  assert.deepStrictEqual(parseJson(text), value, "a body must be what it is on the wire")
  return value
}

/** `{ messageStop: {…} }` is an event stream message, where the upstream has those; other objects are JSON data. */
const upstreamEvent = (file: File, event: string | JsonObject): UpstreamEvent => {
  if (typeof event === "string") return { data: event }
  if (file.upstream !== "converse") return { event: String(event["type"]), data: JSON.stringify(event) }
  const [type = "", body] = Object.entries(event)[0] ?? []
  const messageType = type === "exception" ? "exception" : "event"
  return { headers: { ":message-type": messageType, ":event-type": type }, body }
}

/** Client events as they are written in cases: the data alone, since names and numbers follow from it. */
const shown = (file: File, events: ReadonlyArray<SseEvent>): ReadonlyArray<unknown> =>
  events.map(({ event, data }, index) => {
    const body = parseJson(data)
    if (!isObject(body)) return data
    if (file.client === "completions") {
      assert.isUndefined(event)
      return body
    }
    assert.strictEqual(event, body["type"])
    if (file.client !== "responses") return body
    const { sequence_number: number, ...rest } = body
    assert.strictEqual(number, index + 1)
    return rest
  })

const refusal = <A>(result: Result.Result<A, { status: number; message: string; field?: string | undefined }>) => {
  if (Result.isSuccess(result)) return assert.fail(`expected a refusal, got ${JSON.stringify(result.success)}`)
  const { status, message, field } = result.failure
  return field === undefined ? { status, message } : { status, message, field }
}

const unwrapped = <A>(result: Result.Result<A, { readonly message: string }>): A =>
  Result.getOrThrowWith(result, (error) => new Error(error.message))

const run = (file: File, test: Case): void => {
  // Quirks are the proxy's own words, not a wire format; a case that misspells one fails by its expectation.
  const exchange = unwrapped(translator(file.client, file.upstream, test.quirks as Quirks | undefined)).open(
    callOf(test)
  )
  if (test.given !== undefined) unwrapped(exchange.request(merged(file.requestBase, test.given)))
  const check = (result: ReturnType<typeof exchange.response>, given: unknown, base: JsonObject | undefined): void => {
    if (test.refused !== undefined) assert.deepStrictEqual(refusal(result), { ...test.refused })
    else if (test.same === true) assert.strictEqual(unwrapped(result), given)
    else assert.deepStrictEqual(written(unwrapped(result)), merged(base, test.expect))
  }
  if (test.request !== undefined) {
    const body = merged(file.requestBase, test.request)
    check(exchange.request(body), body, file.expectRequestBase)
  } else if (test.error !== undefined) {
    const { status, body } = test.error
    check(exchange.error(status, body), body, undefined)
  } else if (test.stream !== undefined) {
    const stream = exchange.stream(lookup(test.answerHeaders))
    assert.isDefined(stream, "native streams are not translated")
    const events = test.stream.flatMap((event) => stream.push(upstreamEvent(file, event)))
    events.push(...(test.aborted === true ? stream.abort() : stream.end()))
    const expected = (test.expect as ReadonlyArray<unknown>).map((event) => merged(file.expectEventBase, event))
    assert.deepStrictEqual(shown(file, events), expected)
    if (test.usage !== undefined) assert.deepInclude(stream.usage, test.usage)
  } else {
    const body = merged(file.responseBase, test.response)
    check(exchange.response(body, lookup(test.answerHeaders)), body, file.expectResponseBase)
  }
}

for (const { name, file } of files)
  describe(name, () => {
    for (const test of file.cases) it(test.name, () => run(file, test))
  })

describe("the golden pairs", () => {
  it("are at least 150, each with a name of its own in its file", () => {
    const names = files.flatMap(({ name, file }) => file.cases.map((test) => `${name}: ${test.name}`))
    assert.strictEqual(new Set(names).size, names.length)
    assert.isAtLeast(names.length, 150)
  })
})
