/** The terminal view of a trace without a terminal: its model, its drawing, and a whole session with keys from a queue. */
import { stripVTControlCharacters } from "node:util"
import { assert, describe, it } from "@effect/vitest"
import { Arbitrary, type Cause, Data, Effect, Option, Queue, Schema, Stream } from "effect"
import { make, Terminal, type UserInput } from "effect/Terminal"
import { interactive } from "./interactive.ts"
import { pageOf, paintScreen } from "./paint.ts"
import { failureRow, rowOf } from "./row.ts"
import { completed, detailText, opened, type Screen, statusLine, withKey, withRow } from "./screen.ts"

const source = { address: "127.0.0.1", port: 1, rawAddress: "127.0.0.1", rawPort: 1 }
const env = { podName: null, namespace: null, gateway: null }
const event = (message: object, more: object = {}) =>
  JSON.stringify({ eventStart: null, eventEnd: 10, severity: "info", message, ...more })
const snapshot = (stage: string, code: number, headers: Record<string, string>) =>
  event({ type: "responseSnapshot", stage, requestState: { source, env, response: { code, headers } } })

const trace = [
  event({ type: "requestStarted" }),
  snapshot("raw response", 200, { server: "origin", "x-kept": "1" }),
  event(
    { type: "backendCallResult", status: 503, error: "connection refused" },
    { severity: "error", eventStart: 500, eventEnd: 2500 }
  ),
  snapshot("final response", 502, { "x-kept": "1", "x-new": "2" }),
  event({ type: "bodySnapshot", stage: "response", body: Buffer.from('{"told":"all"}').toString("base64") }),
  event({ type: "requestFinished", status: 502, error: null })
]
const shown = trace.reduce((screen, json) => withRow(screen, rowOf(json)), opened("localhost:15000", "waiting"))
const press = (screen: Screen, ...keys: ReadonlyArray<string>) =>
  keys.reduce((now, key) => withKey(now, key, 10), screen)

const size = { columns: 100, rows: 20 }
const plain = (screen: Screen, of = size) => paintScreen(screen, of, (_, text) => text)

describe("rows", () => {
  it("a body that is JSON is shown as such, another text as text, and bytes as base64", () => {
    const body = (bytes: Buffer) =>
      rowOf(event({ type: "bodySnapshot", stage: "response", body: bytes.toString("base64") })).event as {
        message: { body: unknown }
      }
    assert.deepStrictEqual(body(Buffer.from('{"a":[1]}')).message.body, { a: [1] })
    assert.strictEqual(body(Buffer.from("plain")).message.body, "plain")
    assert.strictEqual(body(Buffer.from([0xff, 0xfe])).message.body, "//4=")
  })

  it("an event of a later version, and what is no JSON, are rows too", () => {
    assert.strictEqual(rowOf('{"message":{"type":"later"}}').type, "unknown")
    assert.strictEqual(rowOf("{broken").event, "{broken")
  })

  it("a call that a backend makes by itself is told from the one call of the request", () => {
    const started = { type: "backendCallStart", target: "127.0.0.1:1" }
    assert.strictEqual(rowOf(event(started, { scope: ["mcp tools"] })).summary, "mcp tools: 127.0.0.1:1")
    assert.strictEqual(rowOf(event(started)).summary, "127.0.0.1:1")
  })

  it("a summary has at most 120 characters", () =>
    assert.strictEqual(rowOf(event({ type: "backendCallStart", target: "x".repeat(500) })).summary.length, 120))
})

describe("the model", () => {
  it("follows the last row until the selection leaves it", () => {
    const add = (screen: Screen) => withRow(screen, rowOf(event({ type: "requestStarted" })))
    assert.strictEqual(shown.selected, 5)
    assert.strictEqual(add(press(shown, "up")).selected, 4)
    assert.strictEqual(add(press(shown, "up", "end")).selected, 6)
  })

  it("moves within its rows", () => {
    assert.strictEqual(press(shown, "home").selected, 0)
    assert.strictEqual(press(shown, "home", "up").selected, 0)
    assert.strictEqual(press(shown, "pageup").selected, 0)
    assert.strictEqual(press(shown, "pagedown").selected, 5)
  })

  it("shows the event, in YAML and in JSON", () => {
    const body = press(shown, "up")
    assert.include(detailText(body), "    told: all")
    assert.include(detailText(press(body, "f")), '"told": "all"')
  })

  it("shows the snapshot that holds at the selected event", () => {
    assert.include(detailText(press(shown, "s")), "code: 502")
    assert.include(detailText(press(shown, "home", "down", "down", "s")), "code: 200")
    assert.include(detailText(press(shown, "home", "s")), "no snapshot yet")
  })

  it("shows what changed since the snapshot before", () => {
    assert.deepStrictEqual(detailText(press(shown, "d")).split("\n"), [
      "- response.code: 200",
      "+ response.code: 502",
      '- response.headers.server: "origin"',
      '+ response.headers.x-new: "2"'
    ])
    assert.strictEqual(detailText(press(shown, "home", "down", "d")), "no earlier snapshot")
  })

  it("scrolls the detail pane once it is in use, and no further than its last line", () => {
    const scrolled = press(shown, "tab", "down", "down")
    assert.deepStrictEqual([scrolled.selected, scrolled.scroll], [5, 2])
    assert.strictEqual(press(scrolled, "end", "down").scroll, detailText(shown).trimEnd().split("\n").length - 1)
    assert.strictEqual(press(scrolled, "tab", "up").scroll, 0)
  })

  it("says how far the trace is", () => {
    assert.strictEqual(statusLine(opened("x", "waiting")), "waiting for trace data")
    assert.strictEqual(statusLine(opened("x", "sent")), "0 events, request sent, waiting for trace to complete")
    assert.strictEqual(statusLine(shown), "6 events")
    assert.strictEqual(statusLine(completed(shown)), "6 events, stream complete, press q to exit")
  })
})

describe("the drawing", () => {
  it("has a table and a detail pane side by side", () => {
    const lines = plain(press(shown, "up", "up", "up"))
    assert.strictEqual(lines[0]?.slice(0, 27), "┌─ Events localhost:15000 ─")
    assert.include(lines[4], " 3 backendCallResult connection refused")
    assert.include(lines[0], "Event (2.000 ms)")
    assert.include(lines.at(-3), "6 events")
  })

  it("colours a row by its severity", () => {
    const styles: Array<string> = []
    paintScreen(shown, size, (style, text) => {
      if (text.includes("connection refused")) styles.push(style)
      return text
    })
    assert.include(styles, "red")
  })

  it("text from elsewhere cannot steer the terminal", () => {
    const row = rowOf(event({ type: "backendCallResult", status: null, error: "\u001b[2J\u009b1mgone" }))
    const lines = plain(withRow(withRow(shown, row), failureRow("\u001b[2J"))).concat(
      plain(press(withRow(shown, row), "f"))
    )
    for (const line of lines) assert.notMatch(line, /[\u0000-\u001f\u007f-\u009f]/)
  })

  it.prop(
    "every line is as wide as the terminal, and there are as many as it has, whatever is selected",
    [
      Arbitrary.schema(Schema.Int.check(Schema.isBetween({ minimum: 20, maximum: 300 }))),
      Arbitrary.schema(Schema.Int.check(Schema.isBetween({ minimum: 8, maximum: 60 }))),
      Arbitrary.array(Arbitrary.schema(Schema.Literals(["up", "down", "tab", "e", "s", "d", "f", "end", "home"]))),
      Arbitrary.array(Arbitrary.schema(Schema.Literals(trace)), { maxLength: 40 })
    ],
    ([columns, rows, keys, events]) => {
      const screen = press(
        events.reduce((now, json) => withRow(now, rowOf(json)), opened("x".repeat(200), "waiting")),
        ...keys
      )
      const lines = plain(screen, { columns, rows })
      assert.strictEqual(lines.length, rows)
      for (const line of lines) assert.strictEqual(line.length, columns)
      assert.isAtLeast(pageOf({ columns, rows }), 1)
    }
  )

  it("counts wide characters as two cells", () => {
    const screen = withRow(opened("x", "waiting"), failureRow("東京 ok"))
    assert.strictEqual(plain(screen, { columns: 100, rows: 10 })[2]?.length, 98)
  })
})

class Broken extends Data.TaggedError("Broken")<{ readonly message: string }> {}

describe("a session", () => {
  const session = (
    events: Stream.Stream<string, Broken>,
    use: (
      keys: Queue.Enqueue<UserInput, Cause.Done>,
      seen: (text: string) => Effect.Effect<void>
    ) => Effect.Effect<void>
  ) =>
    Effect.gen(function* () {
      const keys = yield* Queue.make<UserInput, Cause.Done>()
      const frames: Array<string> = []
      const terminal = make({
        columns: Effect.succeed(100),
        rows: Effect.succeed(20),
        size: Queue.make<{ columns: number; rows: number }, Cause.Done>(),
        readInput: Effect.succeed(keys),
        readLine: Effect.succeed(""),
        display: (text) => Effect.sync(() => frames.push(text))
      })
      const seen = (text: string): Effect.Effect<void> =>
        Effect.suspend(() =>
          stripVTControlCharacters(frames.at(-1) ?? "").includes(text) || frames.at(-1)?.includes(text)
            ? Effect.void
            : Effect.andThen(Effect.yieldNow, seen(text))
        )
      yield* Effect.all(
        [
          interactive("localhost:15000", "waiting", events).pipe(Effect.provideService(Terminal, terminal)),
          use(keys, seen)
        ],
        { concurrency: "unbounded" }
      )
      return frames
    })
  const key = (name: string): UserInput => ({
    input: Option.none(),
    key: { name, ctrl: false, meta: false, shift: false }
  })

  it.effect("shows events, takes keys, copies, and gives the terminal back", () =>
    Effect.gen(function* () {
      const frames = yield* session(Stream.fromIterable(trace), (keys, seen) =>
        Effect.gen(function* () {
          yield* seen("6 events, stream complete")
          yield* Queue.offer(keys, key("d"))
          yield* seen("- response.code: 200")
          yield* Queue.offer(keys, key("c"))
          yield* seen(Buffer.from(detailText(press(shown, "d"))).toString("base64"))
          yield* Queue.offer(keys, key("q"))
        })
      )
      assert.strictEqual(frames[0], "\u001b[?1049h\u001b[?25l")
      assert.strictEqual(frames.at(-1), "\u001b[?25h\u001b[?1049l")
    })
  )

  it.effect("a trace that breaks off ends with a row that says so; the end of the keys ends the view", () =>
    session(
      Stream.concat(Stream.fromIterable(trace), Stream.fail(new Broken({ message: "the proxy went away" }))),
      (keys, seen) =>
        Effect.gen(function* () {
          yield* seen("the proxy went away")
          yield* Queue.end(keys)
        })
    )
  )
})
