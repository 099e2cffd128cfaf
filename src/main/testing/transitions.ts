/** The way that a request took through a graph, from node to node, and where the graph does not have it. */
import { Effect, Exit } from "effect"
import type { TraceEvent } from "../../../spec/trace-events.ts"
import { HeaderList } from "../../http/header-list.ts"
import { RequestHead } from "../../http/message.ts"
import { Exchange } from "../../pipeline/exchange.ts"
import { type GraphEdge, type RouteGraph, routeGraph, type StepIds, stepIds } from "../../pipeline/graph.ts"
import type { Listener } from "../../pipeline/route.ts"
import type { StageFinished, Step } from "../../pipeline/run.ts"
import * as slots from "../../pipeline/slots.ts"
import type { AnySlot, SlotValue } from "../../pipeline/stage.ts"
import type { Played } from "./play.ts"

/** The graph of the one way through a listener, and the nodes of its steps. */
export interface Drawn {
  readonly graph: RouteGraph
  readonly ids: StepIds
}

export const drawn = (listener: Listener): Drawn => {
  const head = new RequestHead("GET", "http", "any.example", "/", new HeaderList())
  const asking = new Exchange(head, undefined, { address: "", port: 0, rawAddress: "", rawPort: 0 }, 0, 0)
  const route = listener.select(asking).route!
  const chosen = route.choose(asking)
  const backend = "_tag" in chosen ? undefined : chosen
  const source = { text: (path: ReadonlyArray<string | number>) => path.join("."), position: () => null }
  return { graph: routeGraph(source, listener, route, backend), ids: stepIds(listener, route, backend) }
}

const leaving: Readonly<Record<StageFinished["outcome"], GraphEdge["kind"]>> = {
  next: "next",
  skipped: "next",
  responded: "respond",
  failed: "fail",
  failedOpen: "failOpen"
}

interface Visit {
  readonly id: string
  readonly leaving: GraphEdge["kind"]
}

/** The nodes that a request came by, in their order. */
const visits = ({ stages, attempts, events, error }: Played, { ids, graph }: Drawn): ReadonlyArray<Visit> => {
  const visitsOf = (some: Played["stages"], ...phases: ReadonlyArray<Step["phase"]>): ReadonlyArray<Visit> =>
    some
      .filter(({ step, afterwards }) => !afterwards && phases.includes(step.phase))
      .map(({ step, outcome }) => ({ id: ids.get(step) ?? `an unknown ${step.node}`, leaving: leaving[outcome] }))
  const of = (...phases: ReadonlyArray<Step["phase"]>) => visitsOf(stages, ...phases)
  const deciding = of("connection")
  const connection: ReadonlyArray<Visit> =
    deciding.length === 0 ? [] : [{ id: "connection", leaving: "next" }, ...deciding]
  if (deciding.at(-1)?.leaving === "fail") return [...connection, { id: "closed", leaving: "next" }]
  const told = (holds: (message: TraceEvent["message"]) => boolean) =>
    events.some(({ message, scope }) => scope === undefined && holds(message))
  const results = resultsOf(events)
  const passedRoute = told((message) => message.type === "requestSnapshot" && message.stage === "route policies")
  const choosing = passedRoute && graph.nodes.some(({ kind }) => kind === "backendSelection")
  const selected: Visit = { id: "backend selection", leaving: error?.tag === "NoBackend" ? "fail" : "next" }
  const atBackend = [0, ...attempts].map((begin, index) => {
    const own = stages.slice(begin, attempts[index])
    return [
      ...visitsOf(own, "backend"),
      ...calling(own, results[index], (some) => visitsOf(some, "call")),
      ...visitsOf(own, "backendResponse")
    ]
  })
  return [
    ...connection,
    { id: "request", leaving: "next" },
    ...of("gateway"),
    ...(told(({ type }) => type === "routeSelection") ? [{ id: "route selection", leaving: "next" as const }] : []),
    ...of("route"),
    ...(choosing ? [selected] : []),
    ...atBackend.flatMap((each, index) =>
      index === 0 ? each : [{ id: "another attempt", leaving: "next" as const }, ...each]
    ),
    ...of("response"),
    { id: "response", leaving: "next" }
  ]
}

/** What the call of each attempt came to, where there was one. */
const resultsOf = (events: Played["events"]): ReadonlyArray<"next" | "fail" | undefined> => {
  const results: Array<"next" | "fail" | undefined> = [undefined]
  for (const { message, scope } of events)
    if (message.type === "policyEvent" && message.kind === "attempt") results.push(undefined)
    else if (message.type === "backendCallResult" && scope === undefined)
      results[results.length - 1] ??= message.error === null ? "next" : "fail"
  return results
}

/** The call of an attempt, and what ran beside it. */
const calling = (
  own: Played["stages"],
  result: "next" | "fail" | undefined,
  visitsOf: (some: Played["stages"]) => ReadonlyArray<Visit>
): ReadonlyArray<Visit> => {
  if (result === undefined) return []
  // Those beside the call run all at once: one that stopped it leads on by itself, unless the answer has gone on already.
  const gone = own.findIndex(({ step }) => step.phase === "backendResponse" || step.phase === "response")
  const stopped = visitsOf(
    (gone < 0 ? own : own.slice(0, gone)).filter(({ outcome }) => outcome === "responded" || outcome === "failed")
  )
  return stopped.length > 0
    ? [{ id: "backend call", leaving: "next" }, ...stopped]
    : [{ id: "backend call", leaving: result }]
}

/** The steps of a request that are no edges of the graph. Of a request that nobody answered, the end is left out. */
export const undrawn = (played: Played, way: Drawn): ReadonlyArray<string> => {
  const { graph } = way
  const visited = visits(played, way)
  return visited.slice(1).flatMap(({ id }, index) => {
    const before = visited[index]!
    return graph.edges.some(({ from, to, kind }) => from === before.id && to === id && kind === before.leaving)
      ? []
      : [`${before.id} led to ${id} by ${before.leaving}, which is not drawn`]
  })
}

/** The edges that cannot be: by outcomes that nobody declares, from slots that nobody writes, or where no request comes. */
export const impossible = ({ graph, ids }: Drawn): ReadonlyArray<string> => {
  const steps = new Map([...ids].map(([step, id]) => [id, step]))
  const onward = new Set(["connection", "request"])
  for (const id of onward)
    for (const { from, to, kind } of graph.edges) if (from === id && kind !== "data") onward.add(to)
  return graph.edges.flatMap(({ from, to, kind, label }) => {
    const step = steps.get(from)
    const edge = `${from} to ${to} by ${kind}`
    if (!onward.has(from) || !onward.has(to)) return [`${edge}: no request comes there`]
    if (step === undefined) return []
    const possible =
      kind === "data"
        ? step.writes.some(({ name }) => name === label)
        : kind === "next"
          ? step.outcomes.includes("next") || step.condition !== undefined
          : step.outcomes.includes(kind === "failOpen" ? "fail" : kind) && (kind === "failOpen") <= step.failOpen
    return possible ? [] : [`${edge}: its node does not declare it`]
  })
}

/** What the engine itself looks into, whoever runs. */
const ofTheEngine: ReadonlySet<AnySlot> = new Set<AnySlot>([slots.timeouts, slots.bodyLimits])

/** The same step, which tells the slots that it touches without having declared them. */
export const observingSlots =
  (tell: (problem: string) => void) =>
  (step: Step): Step => {
    const check = (x: Exchange, does: "reads" | "writes", declared: ReadonlyArray<AnySlot>, slot: AnySlot) => {
      // A node that waited too long is still being called off while others tell what became of the request.
      if (x.error !== undefined) return
      if (!declared.includes(slot) && !ofTheEngine.has(slot))
        tell(`${step.node} ${does} ${slot.name}, and does not say so`)
    }
    const { get, set } = Exchange.prototype
    return {
      ...step,
      run: (view, passage) => {
        const x = view as Exchange
        x.get = <S extends AnySlot>(slot: S): SlotValue<S> | undefined => {
          check(x, "reads", [...step.reads, ...step.writes], slot)
          return get.call(x, slot) as SlotValue<S> | undefined
        }
        x.set = <S extends AnySlot>(slot: S, value: SlotValue<S>) => {
          check(x, "writes", step.writes, slot)
          set.call(x, slot, value)
        }
        const over = () => {
          x.get = get
          x.set = set
        }
        const effect = step.run(view, passage)
        // Beside the call others run at the same time: of what such a node touches later nobody knows who did.
        if (!Exit.isExit(effect) && step.phase !== "call") return Effect.ensuring(effect, Effect.sync(over))
        over()
        return effect
      }
    }
  }
