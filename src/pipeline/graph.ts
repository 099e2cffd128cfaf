/**
 * The graph of a route as plain data: every node a request may run through, and the edges between them. It is what the
 * admin interface dumps, the command-line tool draws, and the checks at load walk.
 */
import type { Backend, Listener, Route } from "./route.ts"
import type { Step } from "./run.ts"
import type { ConfigPath, Phase } from "./stage.ts"

export interface GraphNode {
  /** Unique in the graph. */
  readonly id: string
  readonly kind: "start" | "stage" | "routeSelection" | "backendCall" | "end"
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
  /** Control: what leads on. Data: the slot that one stage leaves for another. */
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

/** What drawing a graph needs to know of the configuration and the registry. */
export interface GraphSource {
  readonly text: (path: ConfigPath) => string
  readonly position: (path: ConfigPath) => string | null
  /** The slots that a policy reads and writes, by name. */
  readonly slots: (policy: string) => { readonly reads: ReadonlyArray<string>; readonly writes: ReadonlyArray<string> }
}

/** Lays out one way through a listener, a route and a backend. */
export const routeGraph = (
  source: GraphSource,
  listener: Listener,
  route: Route,
  backend: Backend | undefined
): RouteGraph => {
  const nodes: Array<GraphNode> = []
  const edges: Array<GraphEdge> = []
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
  let last: string | undefined
  const push = (node: GraphNode) => {
    nodes.push(node)
    if (last !== undefined) edges.push({ from: last, to: node.id, kind: "next", label: null })
    last = node.id
  }
  const writers = new Map<string, string>()
  const pushSteps = (steps: ReadonlyArray<Step>, onStop: string) => {
    for (const step of steps) {
      const id = idOf(nodes, step)
      push({
        id,
        kind: "stage",
        phase: step.phase,
        policy: step.policy,
        label: step.node,
        path: source.text(step.path),
        position: source.position(step.path),
        condition: step.condition ?? null,
        failMode: step.failOpen ? "failOpen" : "failClosed"
      })
      if (step.phase !== "response" && step.phase !== "backendResponse") {
        edges.push({ from: id, to: onStop, kind: "respond", label: null })
        if (!step.failOpen) edges.push({ from: id, to: onStop, kind: "fail", label: null })
      }
      const { reads, writes } = source.slots(step.policy)
      for (const name of reads) {
        const writer = writers.get(name)
        if (writer !== undefined && writer !== id) edges.push({ from: writer, to: id, kind: "data", label: name })
      }
      for (const name of writes) writers.set(name, id)
    }
  }
  push(plain("request", "start", "request"))
  pushSteps(listener.steps, "gateway response")
  push(plain("route selection", "routeSelection", "route selection"))
  pushSteps(route.steps, "route response")
  if (backend !== undefined) {
    pushSteps(backend.steps, "backend response")
    push(plain("backend call", "backendCall", `${backend.type} ${backend.target}`))
    pushSteps(backend.backendResponse, "backend response")
  }
  const response = backend?.response ?? route.response
  const ends = new Map<string, string>()
  const before = nodes.length
  pushSteps(response, "response")
  const first = nodes[before]?.id ?? "response"
  push(plain("response", "end", "response"))
  // A stop in a phase joins the response nodes of the sites entered so far; the first of them that it shares is drawn.
  const entry = (steps: ReadonlyArray<Step>) => {
    const index = response.findIndex((step) => steps.includes(step))
    return index < 0 ? "response" : (nodes[before + index]?.id ?? "response")
  }
  ends.set("gateway response", entry(listener.response))
  ends.set("route response", entry(route.response))
  ends.set("backend response", first)
  return {
    listener: listener.key,
    route: route.key,
    backend: backend?.name ?? null,
    nodes,
    edges: edges
      .map((edge) => ({ ...edge, to: ends.get(edge.to) ?? edge.to }))
      .concat(
        nodes.flatMap((node, index) =>
          node.failMode === "failOpen" && nodes[index + 1] !== undefined
            ? [{ from: node.id, to: nodes[index + 1]!.id, kind: "failOpen" as const, label: null }]
            : []
        )
      )
  }
}

const idOf = (nodes: ReadonlyArray<GraphNode>, step: Step): string => {
  const id = `${step.site} ${step.node}${step.phase === step.site ? "" : ` (${step.phase})`}`
  const twins = nodes.filter((node) => node.id === id || node.id.startsWith(`${id} #`)).length
  return twins === 0 ? id : `${id} #${twins + 1}`
}

const quoted = (text: string) => `"${text.replaceAll('"', "#quot;").replaceAll("\n", " ")}"`

/** The graph as a Mermaid flow chart. */
export const mermaid = (graph: RouteGraph): string => {
  const ids = new Map(graph.nodes.map((node, index) => [node.id, `n${index}`]))
  const shape = (node: GraphNode) => {
    const text = quoted(
      [node.label, node.position, node.condition === null ? null : `if ${node.condition}`]
        .filter((t) => t !== null)
        .join("<br/>")
    )
    switch (node.kind) {
      case "start":
      case "end":
        return `([${text}])`
      case "routeSelection":
        return `{${text}}`
      case "backendCall":
        return `[[${text}]]`
      case "stage":
        return `[${text}]`
    }
  }
  const arrow = (edge: GraphEdge) => {
    switch (edge.kind) {
      case "next":
        return "-->"
      case "data":
        return `-. ${quoted(edge.label ?? "")} .->`
      default:
        return `-- ${edge.kind} -->`
    }
  }
  return [
    "flowchart TD",
    ...graph.nodes.map((node) => `  ${ids.get(node.id)}${shape(node)}`),
    ...graph.edges.map((edge) => `  ${ids.get(edge.from)} ${arrow(edge)} ${ids.get(edge.to)}`),
    ""
  ].join("\n")
}
