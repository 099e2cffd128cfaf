/** Runs the terminal view of a trace: events and keys in, frames out, until the reader quits. */
import { styleText } from "node:util"
import { Effect, Queue, Ref, Stream } from "effect"
import { Terminal } from "effect/Terminal"
import { type Paint, pageOf, paintScreen } from "./paint.ts"
import { failureRow, rowOf } from "./row.ts"
import { completed, detailText, opened, type Screen, type Status, withKey, withRow } from "./screen.ts"

/** The second screen of the terminal, without a cursor; what was there before comes back at the end. */
const enter = "\u001b[?1049h\u001b[?25l"
const leave = "\u001b[?25h\u001b[?1049l"
const home = "\u001b[H"

/** Asks the terminal to put a text on the clipboard (OSC 52). */
const copy = (text: string) => `\u001b]52;c;${Buffer.from(text).toString("base64")}\u0007`

const paint: Paint = (style, text) => (style === "plain" ? text : styleText(style, text))

/**
 * Shows `events` as they come. Ends when the reader presses q, Esc or Ctrl-C.
 * @param status whether the tool's own request is on its way.
 */
export const interactive = <E extends { readonly message: string }>(
  resource: string,
  status: Status,
  events: Stream.Stream<string, E>
): Effect.Effect<void, never, Terminal> =>
  Effect.gen(function* () {
    const terminal = yield* Terminal
    const screen = yield* Ref.make(opened(resource, status))
    const size = Effect.all({ columns: terminal.columns, rows: terminal.rows })
    // A terminal that went away is noticed as the end of its keys.
    const display = (text: string) => Effect.ignore(terminal.display(text))
    const draw = Effect.gen(function* () {
      const lines = paintScreen(yield* Ref.get(screen), yield* size, paint)
      yield* display(home + lines.join("\r\n"))
    })
    const change = (next: (screen: Screen) => Screen) => Effect.andThen(Ref.update(screen, next), draw)

    const shown = Stream.runForEach(events, (json) => change((now) => withRow(now, rowOf(json)))).pipe(
      Effect.catch((error) => change((now) => withRow(now, failureRow(error.message)))),
      Effect.andThen(change(completed))
    )
    const keys = yield* terminal.readInput
    const onKey: Effect.Effect<void> = Effect.gen(function* () {
      while (true) {
        const { key } = yield* Queue.take(keys)
        if (key.name === "q") return
        if (key.name === "c") yield* display(copy(detailText(yield* Ref.get(screen))))
        else {
          const page = pageOf(yield* size)
          yield* change((now) => withKey(now, key.name, page))
        }
      }
      // Esc, Ctrl-C and the end of the input end the queue.
    }).pipe(Effect.catch(() => Effect.void))
    const resized = Stream.runForEach(Stream.fromQueue(yield* terminal.size), () => draw)

    yield* Effect.acquireRelease(display(enter), () => display(leave))
    yield* Effect.forkScoped(shown)
    yield* Effect.forkScoped(resized)
    yield* onKey
  }).pipe(Effect.scoped)
