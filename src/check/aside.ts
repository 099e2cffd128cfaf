/**
 * Checks a configuration while requests are served: a large text is parsed, decoded and normalised by a thread of its own,
 * and what it found is taken over in steps, between which the loop goes on.
 */
import { MessageChannel, type MessagePort, receiveMessageOnPort } from "node:worker_threads"
import { Effect } from "effect"
import { startThread } from "../../layers/thread.ts"
import { placesOfRest } from "../../spec/config/gaps.ts"
import { positions } from "../../spec/config/positions.ts"
import { source as sourceOf } from "../../spec/config/source.ts"
import { nothingHidden } from "../pipeline/hidden.ts"
import { type Checked, type ConfigurationText, check, type Language, language } from "./check.ts"
import { type PackedOutline, unpackOutline } from "./packed-outline.ts"
import { type Parcel, Unpacking } from "./parcels.ts"

/** What the thread is given. */
export interface Asked {
  readonly source: ConfigurationText
  readonly port: MessagePort
}

/** What the thread hands over. */
export type Told = Omit<Checked, "positions"> & { readonly outline: PackedOutline | undefined }

/** Characters up to which a text is checked at once: less than starting a thread takes, and than anybody would notice. */
const smallText = 4096

/** The same while nobody is served yet: above it the garbage of parsing would be worth a thread of its own. */
const smallTextAtStart = 65_536

/** As `check`. A language with policies of one's own is known to this thread alone, which then reads every text itself. */
const asideAbove =
  (small: number) =>
  (source: ConfigurationText, spoken: Language): Effect.Effect<Checked> =>
    source.text.length <= small || spoken.schema !== language.schema
      ? Effect.sync(() => check(source, spoken))
      : Effect.scoped(inThread(source))

/** While requests are served. */
export const checkAside = asideAbove(smallText)

/** Before the first one is. */
export const checkAtStart = asideAbove(smallTextAtStart)

const inThread = (source: ConfigurationText) =>
  Effect.gen(function* () {
    const { port1: port, port2 } = new MessageChannel()
    yield* Effect.addFinalizer(() => Effect.sync(() => port.close()))
    const asked: Asked = { source: { ...source, env: { ...source.env } }, port: port2 }
    const worker = yield* Effect.acquireRelease(
      // It needs nothing of ours but the text: no flags, no environment.
      Effect.sync(() => startThread("check", { workerData: asked, transferList: [port2], execArgv: [], env: {} })),
      (worker) => Effect.promise(() => worker.terminate())
    )
    const failure = yield* Effect.callback<string | undefined>((resume) => {
      worker.once("message", () => resume(Effect.succeed(undefined)))
      worker.once("error", (error) => resume(Effect.succeed(messageOf(error))))
      worker.once("exit", () => resume(Effect.succeed("the thread that reads it ended")))
    })
    if (failure !== undefined) return unread(source, failure)
    const unpacking = new Unpacking()
    for (let next = receiveMessageOnPort(port); next !== undefined; next = receiveMessageOnPort(port)) {
      // The thread sends nothing else.
      unpacking.open(next.message as Parcel)
      yield* Effect.yieldNow
    }
    const { outline, ...told } = unpacking.value as Told
    const places = outline && positions(source.name, unpackOutline(outline), sourceOf(source.text))
    return { ...told, positions: places && placesOfRest(places, told.rest?.gaps ?? []) }
  })

const messageOf = (error: unknown) => (error instanceof Error ? error.message : String(error))

const unread = (source: ConfigurationText, detail: string): Checked => ({
  config: undefined,
  positions: undefined,
  rest: undefined,
  hidden: nothingHidden,
  problems: [
    {
      file: source.name,
      line: 1,
      column: 1,
      path: "",
      message: `cannot be read: ${detail}`,
      severity: "error",
      excerpt: sourceOf(source.text).excerpt(0)
    }
  ]
})
