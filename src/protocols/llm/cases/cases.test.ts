/**
 * Runs every golden pair of this folder: what comes in, and what must go out. A file holds the cases of one pair of formats; the `…Base`
 * members of a file are merged below every body of that kind, so that a case shows only what it is about. A case with `each` stands for one
 * a word: `$word` is the key, `$is` its value.
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

const replaced = (value: unknown, word: string, is: unknown): unknown => {
  if (value === "$is") return is
  if (value === "$word" && /^\d+$/.test(word)) return Number(word)
  if (typeof value === "string") return value.replaceAll("$word", word)
  if (Array.isArray(value)) return value.map((item) => replaced(item, word, is))
  return isObject(value)
    ? Object.fromEntries(Object.entries(value).map(([key, item]) => [key, replaced(item, word, is)]))
    : value
}

/** A file with every `each` written out. */
const expanded = (file: unknown): unknown => {
  if (!isObject(file) || !Array.isArray(file["cases"])) return file
  const cases = file["cases"].flatMap((test: unknown): ReadonlyArray<unknown> => {
    if (!isObject(test) || !isObject(test["each"])) return [test]
    const { each, name, ...rest } = test
    return Object.entries(each as JsonObject).map(([word, is]) => ({
      name: `${String(name)}: ${word}`,
      ...(replaced(rest, word, is) as JsonObject)
    }))
  })
  return { ...file, cases }
}

const folder = import.meta.dirname
const rowsFile = "rows.yaml"
const files = readdirSync(folder)
  .filter((name) => name.endsWith(".yaml") && name !== rowsFile)
  .map((name) => {
    const read = Schema.decodeUnknownResult(File, { onExcessProperty: "error" })(
      expanded(parse(readFileSync(join(folder, name), "utf8")))
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

/** Table, row, file without its ending, names of cases; one name may stand for those that it is expanded to. */
const Rows = Schema.Record(
  Schema.String,
  Schema.Record(
    Schema.String,
    Schema.Record(Schema.String, Schema.Array(Schema.String).check(Schema.isMinLength(1))).check(
      Schema.isMinProperties(1)
    )
  )
)

describe("the golden pairs", () => {
  const names = files.flatMap(({ name, file }) => file.cases.map((test) => `${name}: ${test.name}`))

  it("are at least 150, each with a name of its own in its file", () => {
    assert.strictEqual(new Set(names).size, names.length)
    assert.isAtLeast(names.length, 150)
  })

  it("show every row of the tables, and each of them shows one", () => {
    const tables = Schema.decodeUnknownSync(Rows)(parse(readFileSync(join(folder, rowsFile), "utf8")))
    const shown = new Set<string>()
    for (const [table, rows] of Object.entries(tables))
      for (const [row, shows] of Object.entries(rows))
        for (const [file, cases] of Object.entries(shows))
          for (const name of cases) {
            const full = `${file}.yaml: ${name}`
            const found = names.filter((each) => each === full || each.startsWith(`${full}: `))
            assert.isNotEmpty(found, `${table}, ${row}: there is no case "${full}"`)
            for (const each of found) shown.add(each)
          }
    assert.deepStrictEqual(
      names.filter((name) => !shown.has(name)),
      []
    )
  })
})
