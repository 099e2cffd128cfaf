/** Those who watch a request: the engine tells them everything on its way, and they can change nothing. */
import type { StageMessage } from "../../spec/trace-events.ts"
import type { OutboundCall, OutboundWatch } from "./outbound.ts"
import type { Passage } from "./passage.ts"
import type { Selection } from "./route.ts"
import type { StageFinished, StepName } from "./run.ts"
import type { Hooks } from "./serve.ts"
import type { RequestSite } from "./site.ts"
import type { StageError } from "./stage.ts"

export interface Watch {
  /** Whether it wants what stages tell by themselves: gathering it costs. */
  readonly notes: boolean
  /** What a stage told by itself. */
  told(message: StageMessage): void
  started(passage: Passage): void
  entering(passage: Passage, site: RequestSite): void
  passed(passage: Passage, site: RequestSite): void
  selected(passage: Passage, selection: Selection): void
  calling(passage: Passage): void
  called(passage: Passage, error: StageError | undefined): void
  /** The attempt is let go of, and another one follows in so many milliseconds. */
  repeating(passage: Passage, error: StageError | undefined, delay: number): void
  ready(passage: Passage): void
  final(passage: Passage, error: StageError | undefined): void
  /** A node ran, or was skipped. */
  stage(passage: Passage, event: StageFinished): void
  /** A call beside that of the engine, of the stage `by` or of a backend that is a relay. */
  outbound(call: OutboundCall, by?: StepName): OutboundWatch
}

/** The hooks of the observed form: each tells whoever watches the exchange. */
export const watchHooks: Hooks = {
  started: (passage) => passage.watch?.started(passage),
  entering: (passage, site) => passage.watch?.entering(passage, site),
  passed: (passage, site) => passage.watch?.passed(passage, site),
  selected: (passage, selection) => passage.watch?.selected(passage, selection),
  calling: (passage) => passage.watch?.calling(passage),
  called: (passage, error) => passage.watch?.called(passage, error),
  repeating: (passage, error, delay) => passage.watch?.repeating(passage, error, delay),
  ready: (passage) => passage.watch?.ready(passage),
  final: (passage, error) => passage.watch?.final(passage, error)
}

/** What the observed loop tells about each node. */
export const watchStages = (passage: Passage, event: StageFinished): void => passage.watch?.stage(passage, event)

/** Two watchers as one. */
export const both = (a: Watch, b: Watch): Watch => ({
  notes: a.notes || b.notes,
  told: (message) => {
    a.told(message)
    b.told(message)
  },
  started: (passage) => {
    a.started(passage)
    b.started(passage)
  },
  entering: (passage, site) => {
    a.entering(passage, site)
    b.entering(passage, site)
  },
  passed: (passage, site) => {
    a.passed(passage, site)
    b.passed(passage, site)
  },
  selected: (passage, selection) => {
    a.selected(passage, selection)
    b.selected(passage, selection)
  },
  calling: (passage) => {
    a.calling(passage)
    b.calling(passage)
  },
  called: (passage, error) => {
    a.called(passage, error)
    b.called(passage, error)
  },
  repeating: (passage, error, delay) => {
    a.repeating(passage, error, delay)
    b.repeating(passage, error, delay)
  },
  ready: (passage) => {
    a.ready(passage)
    b.ready(passage)
  },
  final: (passage, error) => {
    a.final(passage, error)
    b.final(passage, error)
  },
  stage: (passage, event) => {
    a.stage(passage, event)
    b.stage(passage, event)
  },
  outbound: (call, by) => bothOf(a.outbound(call, by), b.outbound(call, by))
})

const bothOf = (one: OutboundWatch, other: OutboundWatch): OutboundWatch => ({
  context: one.context ?? other.context,
  ended: (result) => {
    one.ended(result)
    other.ended(result)
  },
  outbound: (call) => bothOf(one.outbound(call), other.outbound(call))
})
