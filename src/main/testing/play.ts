/** Plays a request through the engine, watched or not, and tells everything that came of it. */
import { Effect, Exit } from "effect"
import type { StageMessage, TraceEvent } from "../../../spec/trace-events.ts"
import { isSource } from "../../http/body.ts"
import { HeaderList } from "../../http/header-list.ts"
import { RequestHead } from "../../http/message.ts"
import type { PathFault, Paths } from "../../http/path.ts"
import { makeAdmit } from "../../pipeline/admit.ts"
import { Contact } from "../../pipeline/contact.ts"
import { Exchange } from "../../pipeline/exchange.ts"
import type { DrawnStep } from "../../pipeline/graph.ts"
import { type Hidden, nothingHidden } from "../../pipeline/hidden.ts"
import type { OutboundWatch } from "../../pipeline/outbound.ts"
import { Passage } from "../../pipeline/passage.ts"
import type { Listener } from "../../pipeline/route.ts"
import { observedLoop, plainLoop, type StageFinished } from "../../pipeline/run.ts"
import { makeServe, noHooks } from "../../pipeline/serve.ts"
import type { StageError } from "../../pipeline/stage.ts"
import { Trace } from "../../pipeline/trace.ts"
import { type Watch, watchHooks, watchStages } from "../../pipeline/watch.ts"
import type { Content, Request } from "./arbitraries.ts"
import { bodyOf, collect } from "./flow.ts"
import type { Received, World } from "./world.ts"

/** What a node made of a request, or of the connection over which it came. */
export type PlayedStage = Omit<StageFinished, "step"> & { readonly step: DrawnStep }

export interface Played {
  /** Whether the connection was refused: then there is no answer, and the status is 0. */
  readonly closed: boolean
  readonly status: number
  /** Lower-case name, value, name, value … */
  readonly headers: ReadonlyArray<string>
  readonly body: string
  /** Why the body is not whole, if it is not. */
  readonly failure: string | undefined
  /** The failure that was answered for. */
  readonly error: { readonly tag: string; readonly status: number; readonly message: string } | undefined
  /** What the backend received; `undefined` when it was not called. */
  readonly received: Received | undefined
  /** What threw. */
  readonly defects: ReadonlyArray<unknown>
  /** What each node made of it. Only of a watched request. */
  readonly stages: ReadonlyArray<PlayedStage>
  /** Whether the call of the backend failed, if there was one. Only of a watched request. */
  readonly call: "next" | "failed" | undefined
  /** Where each further attempt at the backend began among `stages`. Only of a watched request. */
  readonly attempts: ReadonlyArray<number>
  /** What nodes told by themselves. Only of a watched request. */
  readonly told: ReadonlyArray<StageMessage>
  /** The events of its trace. Only of a watched request. */
  readonly events: ReadonlyArray<TraceEvent>
}

const ignored = () => {}

const unwatched: OutboundWatch = { context: undefined, ended: ignored, outbound: () => unwatched }

/** Keeps what each node and the call did and told. */
const recording = (
  stages: Array<PlayedStage>,
  attempts: Array<number>,
  calls: Array<"next" | "failed">,
  told: Array<StageMessage>
): Watch => ({
  notes: true,
  told: (message) => told.push(message),
  outbound: () => unwatched,
  started: ignored,
  entering: ignored,
  passed: ignored,
  selected: ignored,
  calling: ignored,
  called: (_, error) => calls.push(error === undefined ? "next" : "failed"),
  repeating: () => attempts.push(stages.length),
  ready: ignored,
  final: ignored,
  stage: (_, event) => stages.push(event)
})

/** The exchange of a request that has just come in; what is wrong with its path, where the edge refuses it. */
const exchangeOf = (request: Request, world: World, paths: Paths): Exchange | PathFault => {
  const length = lengthOf(request.body)
  const headers = HeaderList.from(request.headers)
  if (length !== undefined) headers.set("content-length", length)
  const head = new RequestHead(request.method, request.scheme, request.authority, request.path, headers)
  if (paths === "normalised") {
    const unreadable = head.moveTo(request.path)
    if (unreadable !== undefined) return unreadable
  }
  const { from = "192.0.2.1" } = request
  const peer = { address: from, port: 40_000, rawAddress: from, rawPort: 40_000 }
  const x = new Exchange(head, bodyOf("request", request.body, world.flows), peer, world.time.wall(), world.clock())
  x.matchedPrefix = request.prefix
  const onFinish = x.onFinish.bind(x)
  x.onFinish = (callback) => {
    world.awaited++
    onFinish((outcome) => {
      world.awaited--
      callback(outcome)
    })
  }
  return x
}

/** A body that is in memory declares its length, one that is streamed is chunked. */
const lengthOf = (body: Content | undefined): string | undefined =>
  body === undefined || body.streamed ? undefined : String(Buffer.byteLength(body.chunks.join("")))

/** Before anybody has said anything. */
const unanswered: Played = {
  closed: false,
  status: 0,
  headers: [],
  body: "",
  failure: undefined,
  error: undefined,
  received: undefined,
  defects: [],
  stages: [],
  call: undefined,
  attempts: [],
  told: [],
  events: []
}

/** What the edge answers by itself. */
const refused = ({ fault }: PathFault): Played => ({
  ...unanswered,
  status: 400,
  headers: ["content-type", "text/plain"],
  body: fault
})

export interface PlayOptions {
  /** What becomes of its path. Policies have to stand any, so that by default it stays as it is. */
  readonly paths?: Paths | undefined
  /** Sees the exchange when the answer is there. */
  readonly answered?: ((x: Exchange) => void) | undefined
  /** What traces do not show, beside what they never do. */
  readonly hidden?: Hidden | undefined
}

/** Plays a request. Interrupting it does what the edge does when a client goes away. */
export const play = (
  listener: Listener | StageError,
  request: Request,
  world: World,
  watched: boolean,
  { paths = "raw", answered, hidden = nothingHidden }: PlayOptions = {}
): Effect.Effect<Played> =>
  Effect.suspend(() => {
    const x = exchangeOf(request, world, paths)
    if ("fault" in x) return Effect.succeed(refused(x))
    x.settings = { ...x.settings, hidden }
    const before = world.received.length
    const defects: Array<unknown> = []
    const stages: Array<PlayedStage> = []
    const attempts: Array<number> = []
    const calls: Array<"next" | "failed"> = []
    const told: Array<StageMessage> = []
    const events: Array<TraceEvent> = []
    const contain = (cause: unknown) => {
      defects.push(cause)
    }
    const contained = ({ cause }: { readonly cause: unknown }) => contain(cause)
    const settings = {
      env: { podName: null, namespace: null, gateway: null },
      clock: world.clock,
      locate: (path: ReadonlyArray<string | number>) => path.join(".")
    }
    const passage = new Passage(x)
    const trace = watched ? new Trace(settings, (event) => events.push(event)) : undefined
    if (trace !== undefined) {
      world.traces.push(events)
      passage.watchedBy(recording(stages, attempts, calls, told))
      passage.watchedBy(trace)
    }
    const serve = watched
      ? makeServe(observedLoop(world.clock, watchStages), watchHooks, world.clock, contained)
      : makeServe(plainLoop(world.clock), noHooks, world.clock, contained)
    const release = (body: Exchange["requestBody"]) => {
      if (isSource(body)) body.cancel()
    }
    const gone = Effect.sync(() => {
      release(x.latest.response?.body)
      release(x.requestBody)
      x.finish({ status: undefined, failure: "the client went away", bytes: 0 }, contain)
    })
    const serving = () =>
      Effect.flatMap(serve(passage, listener), (answer) =>
        Effect.map(collect(answer.body), ({ text, failure }): Played => {
          // What nobody read of the request is dropped with the connection.
          release(x.requestBody)
          x.finish({ status: answer.status, failure, bytes: Buffer.byteLength(text) }, contain)
          answered?.(x)
          const { error } = x.latest
          return {
            closed: false,
            status: answer.status,
            headers: [...answer.headers.flat],
            body: text,
            failure,
            error: error && { tag: error._tag, status: error.status, message: error.message },
            received: world.received[before],
            defects,
            stages,
            call: calls[0],
            attempts,
            told,
            events
          }
        })
      )
    /** Makes the connection of the request; what it comes to where that is refused. */
    const connected = (contact: Contact): Effect.Effect<Played | undefined> => {
      let why: StageError | undefined
      const admit = makeAdmit(
        world.clock,
        (_, error) => {
          why = error
          trace?.refused(contact, error)
        },
        contained
      )
      return Effect.map(admit(contact), (stays) => {
        if (watched)
          for (const { stage, told: said } of contact.events)
            if (stage === undefined) told.push(said)
            else stages.push(stage)
        if (stays || why === undefined) return undefined
        release(x.requestBody)
        const error = { tag: why._tag, status: why.status, message: why.message }
        return {
          ...unanswered,
          closed: true,
          failure: "the connection was closed",
          error,
          defects,
          stages,
          told,
          events
        }
      })
    }
    const admission = listener === undefined || "_tag" in listener ? undefined : listener.admission
    const contact = admission && new Contact(x.peer, x.now, x.arrived, admission, settings.env, watched)
    const made =
      contact === undefined
        ? serving()
        : Effect.flatMap(connected(contact), (refused) => (refused === undefined ? serving() : Effect.succeed(refused)))
    return made.pipe(
      Effect.onExit((exit) => (Exit.isSuccess(exit) ? Effect.void : gone)),
      Effect.provideContext(world.timing)
    )
  })
