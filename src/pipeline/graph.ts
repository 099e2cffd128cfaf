/**
 * The graph of a route as plain data: every node that a request may run through, and the edges that it may take between them. It is what the
 * admin interface dumps, the command-line tool draws, and the checks at load walk.
 */
import type { StreamBackend, StreamListener, StreamRoute } from "./relay.ts"
import type { Backend, Listener, Route } from "./route.ts"
import type { Step } from "./run.ts"
import { plan as planned } from "./slots.ts"
import type { AnySlot, ConfigPath, Phase } from "./stage.ts"

export interface GraphNode {
  /** Unique in the graph. */
  readonly id: string
  readonly kind:
    | "start"
    | "stage"
    | "routeSelection"
    | "backendSelection"
    | "connection"
    | "backendCall"
    | "attempt"
    | "end"
  readonly phase: Phase | null
  readonly policy: string | null
  readonly label: string
  /** The path of the configuration. */
  readonly path: string | null
  /** `config.yaml:41:13`, when the configuration came from a text. */
  readonly position: string | null
  readonly condition: string | null
  readonly failMode: "failOpen" | "failClosed" | null
}

export interface GraphEdge {
  readonly from: string
  readonly to: string
  /** Control: what leads on. Data: the slot that one stage leaves for another, or what a policy says of connections. */
  readonly kind: "next" | "respond" | "fail" | "failOpen" | "data"
  readonly label: string | null
}

export interface RouteGraph {
  readonly listener: string
  readonly route: string
  readonly backend: string | null
  readonly nodes: ReadonlyArray<GraphNode>
  readonly edges: ReadonlyArray<GraphEdge>
}

/** What drawing a graph needs to know of the configuration. */
export interface GraphSource {
  readonly text: (path: ConfigPath) => string
  readonly position: (path: ConfigPath) => string | null
}

/** A step of a request or of a connection, as far as it is drawn. */
export type DrawnStep = Omit<Step, "run" | "holds">
/** The nodes of steps. */
export type StepIds = ReadonlyMap<DrawnStep, string>

/** A way that is being drawn: its nodes one after the other, and the edges between them. */
class Drawing {
  readonly nodes: Array<GraphNode> = []
  readonly edges: Array<GraphEdge> = []
  readonly #source: GraphSource
  readonly #ids: StepIds
  readonly #writers = new Map<AnySlot, Array<string>>()
  /** Edges that lead to whatever comes next. */
  #open: Array<Pick<GraphEdge, "from" | "kind">> = []

  constructor(source: GraphSource, ids: StepIds) {
    this.#source = source
    this.#ids = ids
  }

  /** A node to which everything leads that is open; on to the next one it leads by itself. */
  place(node: GraphNode): void {
    this.nodes.push(node)
    this.lead(node.id)
    this.#open = [{ from: node.id, kind: "next" }]
  }

  /** Everything that is open leads there. */
  lead(to: string): void {
    for (const { from, kind } of this.#open) this.edge(from, to, kind)
    this.#open = []
  }

  /** @param onStop where an answer or a refusal leads to. */
  step(step: DrawnStep, onStop: string): void {
    const id = this.node(step)
    this.lead(id)
    for (const kind of kindsOf(step))
      if (kind === "next" || kind === "failOpen") this.#open.push({ from: id, kind })
      else this.edge(id, onStop, kind)
  }

  /** Steps that run at the same time as what comes next, and may stop it. */
  alongside(steps: ReadonlyArray<Step>, onStop: string): void {
    const before = this.#open
    const onward = [...before]
    for (const step of steps) {
      this.#open = before
      this.step(step, onStop)
      onward.push(...this.#open)
    }
    this.#open = onward
  }

  /** Steps of a response: an answer or a refusal of one leads on to the next, too. */
  chain(steps: ReadonlyArray<Step>, end: string): void {
    for (const [index, step] of steps.entries()) {
      const onward = steps[index + 1]
      for (const kind of kindsOf(step))
        this.edge(this.#ids.get(step)!, onward === undefined ? end : this.#ids.get(onward)!, kind)
    }
  }

  /** What ends at `end` may be followed by another attempt, which begins at `first`. */
  repeat(end: string, first: string, repeated: Repeated): void {
    const next = "another attempt"
    for (const { from, to, kind } of this.edges.slice())
      if (to === end && kind !== "respond" && (repeated === "anything" || (from === "backend call" && kind === "fail")))
        this.edge(from, next, kind)
    this.nodes.push(plain(next, "attempt", next))
    this.edge(next, first, "next")
  }

  /** The node of a step, and the slots that it reads and writes. */
  node(step: DrawnStep): string {
    const id = this.#ids.get(step)!
    this.nodes.push({
      id,
      kind: "stage",
      phase: step.phase,
      policy: step.policy,
      label: step.node,
      path: this.#source.text(step.path),
      position: this.#source.position(step.path),
      condition: step.condition ?? null,
      failMode: step.failOpen ? "failOpen" : "failClosed"
    })
    this.read(id, step.reads)
    for (const slot of step.writes) this.#writers.set(slot, [...(this.#writers.get(slot) ?? []), id])
    return id
  }

  /** A policy that says how the connections of a call are opened. No request runs through it. */
  connection(policy: string, path: ConfigPath, call: string): void {
    const id = `connection ${policy}`
    this.nodes.push({
      ...plain(id, "connection", policy),
      policy,
      path: this.#source.text(path),
      position: this.#source.position(path)
    })
    this.edge(id, call, "data", "connection")
  }

  read(id: string, slots: ReadonlyArray<AnySlot>): void {
    for (const slot of slots)
      for (const writer of this.#writers.get(slot) ?? []) this.edge(writer, id, "data", slot.name)
  }

  edge(from: string, to: string, kind: GraphEdge["kind"], label: string | null = null): void {
    const known = this.edges.some(
      (edge) => edge.from === from && edge.to === to && edge.kind === kind && edge.label === label
    )
    if (!known) this.edges.push({ from, to, kind, label })
  }
}

/** What may be followed by another attempt: whatever one comes to, or a connection that was not made. */
type Repeated = "anything" | "failed calls"

const repeatedBy = ({ plan, elsewhere, steps }: Route): Repeated | undefined =>
  plan !== undefined || steps.some(({ writes }) => writes.includes(planned))
    ? "anything"
    : elsewhere === undefined
      ? undefined
      : "failed calls"

/** The ways on from a node. Not every failure is forgiven. */
const kindsOf = ({ outcomes, failOpen }: DrawnStep): ReadonlyArray<GraphEdge["kind"]> =>
  outcomes.flatMap((kind) => (kind === "fail" && failOpen ? ["failOpen", "fail"] : [kind]))

const plain = (id: string, kind: GraphNode["kind"], label: string): GraphNode => ({
  id,
  kind,
  phase: null,
  policy: null,
  label,
  path: null,
  position: null,
  condition: null,
  failMode: null
})

/**
 * Lays out one way through a listener, a route and a backend, as far as a request can come: nothing stands behind a node that
 * answers every request.
 */
export const routeGraph = (
  source: GraphSource,
  listener: Listener,
  route: Route,
  backend: Backend | undefined
): RouteGraph => {
  const ids = stepIds(listener, route, backend)
  const drawing = new Drawing(source, ids)
  // A stop runs the response nodes of the sites that the request has entered.
  const responses = new Map([
    ["response of the gateway", listener.response],
    ["response of the route", route.response],
    ["response of the backend", backend?.response ?? []]
  ])
  const [ofGateway, ofRoute, ofBackend] = [...responses.keys()] as [string, string, string]
  const { admission } = listener
  if (admission !== undefined) {
    drawing.place(plain("connection", "start", "connection"))
    for (const step of admission.steps) drawing.step(step, "closed")
  }
  drawing.place(plain("request", "start", "request"))
  for (const step of listener.steps) drawing.step(step, ofGateway)
  drawing.place(plain("route selection", "routeSelection", "route selection"))
  for (const step of route.steps) drawing.step(step, ofRoute)
  if (route.mayLeadNowhere === true) {
    drawing.place(plain("backend selection", "backendSelection", "backend selection"))
    drawing.edge("backend selection", ofRoute, "fail")
  } else if (backend === undefined) drawing.lead(ofRoute)
  if (backend !== undefined) {
    for (const step of backend.steps) drawing.step(step, ofBackend)
    drawing.place(plain("backend call", "backendCall", `${backend.type} ${backend.target}`))
    for (const { policy, path } of backend.connections ?? []) drawing.connection(policy, path, "backend call")
    drawing.read("backend call", backend.reads ?? [])
    drawing.edge("backend call", ofBackend, "fail")
    drawing.alongside(backend.beside ?? [], ofBackend)
    for (const step of backend.backendResponse) drawing.step(step, ofBackend)
    drawing.lead(ofBackend)
    const repeated = repeatedBy(route)
    if (repeated !== undefined) {
      drawing.repeat(ofBackend, ids.get(backend.steps[0]!) ?? "backend call", repeated)
    }
  }
  const entered = reachable(drawing.edges)
  for (const step of backend?.response ?? route.response) drawing.node(step)
  for (const [name, steps] of responses) if (entered.has(name)) drawing.chain(steps, "response")
  if (admission !== undefined) drawing.nodes.push(plain("closed", "end", "connection closed"))
  drawing.nodes.push(plain("response", "end", "response"))
  const startOf = (name: string) => {
    const steps = responses.get(name)
    if (steps === undefined) return name
    return steps[0] === undefined ? "response" : ids.get(steps[0])!
  }
  const edges = drawing.edges.map((edge) => ({ ...edge, to: startOf(edge.to) }))
  const reached = new Set(reachable(edges))
  for (const { id, kind } of drawing.nodes) if (kind === "connection" && reached.has("backend call")) reached.add(id)
  return {
    listener: listener.key,
    route: route.key,
    backend: backend?.name ?? null,
    nodes: drawing.nodes.filter(({ id }) => reached.has(id)),
    edges: edges.filter(({ from, to }) => reached.has(from) && reached.has(to))
  }
}

/** The same of a connection that is passed on: there is no request, so nothing stands behind the call. */
export const streamGraph = (
  source: GraphSource,
  listener: StreamListener,
  route: StreamRoute,
  backend: StreamBackend | undefined
): RouteGraph => {
  const steps = listener.admission?.steps ?? []
  const drawing = new Drawing(source, numbered(steps))
  drawing.place(plain("connection", "start", "connection"))
  for (const step of steps) drawing.step(step, "closed")
  drawing.place(plain("route selection", "routeSelection", "route selection"))
  drawing.edge("route selection", "closed", "fail")
  if (route.mayLeadNowhere) {
    drawing.place(plain("backend selection", "backendSelection", "backend selection"))
    drawing.edge("backend selection", "closed", "fail")
  }
  if (backend !== undefined) {
    drawing.place(plain("backend call", "backendCall", `${backend.type} ${backend.target}`))
    for (const { policy, path } of backend.connections ?? []) drawing.connection(policy, path, "backend call")
    drawing.edge("backend call", "closed", "fail")
    drawing.place(plain("passed on", "end", "passed on"))
  } else drawing.lead("closed")
  drawing.nodes.push(plain("closed", "end", "connection closed"))
  const { nodes, edges } = drawing
  return { listener: listener.key, route: route.key, backend: backend?.name ?? null, nodes, edges }
}

/** What control leads to, from the connection or the request on. */
const reachable = (edges: ReadonlyArray<GraphEdge>): ReadonlySet<string> => {
  const onward = Map.groupBy(
    edges.filter(({ kind }) => kind !== "data"),
    ({ from }) => from
  )
  const found = new Set(["connection", "request"])
  for (const id of found) for (const { to } of onward.get(id) ?? []) found.add(to)
  return found
}

/** The nodes of the steps on a way; several nodes of one name are told apart by their number. */
export const stepIds = (listener: Listener, route: Route, backend: Backend | undefined): StepIds =>
  numbered([
    ...(listener.admission?.steps ?? []),
    ...listener.steps,
    ...route.steps,
    ...(backend?.steps ?? []),
    ...(backend?.beside ?? []),
    ...(backend?.backendResponse ?? []),
    ...(backend?.response ?? route.response)
  ])

const numbered = (steps: ReadonlyArray<DrawnStep>): StepIds => {
  const twins = new Map<string, number>()
  const idOf = ({ site, node, phase }: DrawnStep): string => {
    const id = `${site} ${node}${phase === site ? "" : ` (${phase})`}`
    const count = (twins.get(id) ?? 0) + 1
    twins.set(id, count)
    return count === 1 ? id : `${id} #${count}`
  }
  return new Map(steps.map((step) => [step, idOf(step)]))
}

const escapes: Readonly<Record<string, string>> = {
  '"': "#quot;",
  "#": "#35;",
  "`": "#96;",
  "&": "#amp;",
  "<": "#lt;",
  ">": "#gt;",
  "\n": " "
}
const escaped = (text: string) => text.replaceAll(/["#`&<>\n]/g, (character) => escapes[character]!)

/** Graphs as one Mermaid flow chart, each in a box of its own. */
export const mermaid = (graphs: ReadonlyArray<RouteGraph>): string =>
  ["flowchart TD", ...graphs.flatMap((graph, index) => boxed(graph, `r${index}`)), ""].join("\n")

const boxed = ({ route, backend, nodes, edges }: RouteGraph, box: string): ReadonlyArray<string> => {
  const ids = new Map(nodes.map(({ id }, index) => [id, `${box}n${index}`]))
  return [
    `  subgraph ${box}["${escaped(backend === null ? route : `${route} to ${backend}`)}"]`,
    ...nodes.map((node) => `    ${ids.get(node.id)}${shape(node)}`),
    ...edges.map((edge) => `    ${ids.get(edge.from)} ${arrow(edge)} ${ids.get(edge.to)}`),
    "  end"
  ]
}

const shape = ({ kind, label, position, condition }: GraphNode): string => {
  const lines = [label, position, condition === null ? null : `if ${condition}`].filter((line) => line !== null)
  const text = `"${lines.map(escaped).join("<br/>")}"`
  switch (kind) {
    case "start":
    case "end":
      return `([${text}])`
    case "routeSelection":
      return `{${text}}`
    case "backendCall":
      return `[[${text}]]`
    case "backendSelection":
      return `{${text}}`
    case "connection":
      return `[/${text}/]`
    case "attempt":
      return `{{${text}}}`
    case "stage":
      return `[${text}]`
  }
}

const arrow = ({ kind, label }: GraphEdge): string =>
  kind === "next" ? "-->" : kind === "data" ? `-.->|"${escaped(label ?? "")}"|` : `-->|${kind}|`
