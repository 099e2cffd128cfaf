/** Those who watch a request: the engine tells them everything on its way, and they can change nothing. */
import type { StageMessage } from "../../spec/trace-events.ts"
import type { Exchange } from "./exchange.ts"
import type { OutboundCall, OutboundWatch } from "./outbound.ts"
import type { Selection } from "./route.ts"
import type { StageFinished } from "./run.ts"
import type { Hooks } from "./serve.ts"
import type { Site, StageError } from "./stage.ts"

export interface Watch {
  /** Whether it wants what stages tell by themselves: gathering it costs. */
  readonly notes: boolean
  /** What a stage told by itself. */
  told(message: StageMessage): void
  started(exchange: Exchange): void
  entering(exchange: Exchange, site: Site): void
  passed(exchange: Exchange, site: Site): void
  selected(exchange: Exchange, selection: Selection): void
  calling(exchange: Exchange): void
  called(exchange: Exchange, error: StageError | undefined): void
  ready(exchange: Exchange): void
  final(exchange: Exchange, error: StageError | undefined): void
  /** A node ran, or was skipped. */
  stage(exchange: Exchange, event: StageFinished): void
  /** The backend makes a call of its own. */
  outbound(call: OutboundCall): OutboundWatch
}

/** The hooks of the observed form: each tells whoever watches the exchange. */
export const watchHooks: Hooks = {
  started: (x) => x.watch?.started(x),
  entering: (x, site) => x.watch?.entering(x, site),
  passed: (x, site) => x.watch?.passed(x, site),
  selected: (x, selection) => x.watch?.selected(x, selection),
  calling: (x) => x.watch?.calling(x),
  called: (x, error) => x.watch?.called(x, error),
  ready: (x) => x.watch?.ready(x),
  final: (x, error) => x.watch?.final(x, error)
}

/** What the observed loop tells about each node. */
export const watchStages = (x: Exchange, event: StageFinished): void => x.watch?.stage(x, event)

/** Two watchers as one. */
export const both = (a: Watch, b: Watch): Watch => ({
  notes: a.notes || b.notes,
  told: (message) => {
    a.told(message)
    b.told(message)
  },
  started: (x) => {
    a.started(x)
    b.started(x)
  },
  entering: (x, site) => {
    a.entering(x, site)
    b.entering(x, site)
  },
  passed: (x, site) => {
    a.passed(x, site)
    b.passed(x, site)
  },
  selected: (x, selection) => {
    a.selected(x, selection)
    b.selected(x, selection)
  },
  calling: (x) => {
    a.calling(x)
    b.calling(x)
  },
  called: (x, error) => {
    a.called(x, error)
    b.called(x, error)
  },
  ready: (x) => {
    a.ready(x)
    b.ready(x)
  },
  final: (x, error) => {
    a.final(x, error)
    b.final(x, error)
  },
  stage: (x, event) => {
    a.stage(x, event)
    b.stage(x, event)
  },
  outbound: (call) => {
    const [one, other] = [a.outbound(call), b.outbound(call)]
    return {
      context: one.context ?? other.context,
      ended: (result) => {
        one.ended(result)
        other.ended(result)
      }
    }
  }
})
