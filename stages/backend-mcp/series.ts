/** The metrics of MCP requests and of their calls of targets. Series are resolved once and found again by what they count. */
import { type Metrics, type Passage, placeLabels, placeOf, type Series } from "../../src/policy/terminal.ts"
import type { McpFacts } from "../../src/protocols/mcp/contract.ts"
import { isKnownMethod } from "../../src/protocols/mcp/methods.ts"

/** A server may have a resource for any URI. Beyond so many different names, a backend counts the rest together. */
const mostSeries = 1_000
/** How a tool says that it failed. Some servers say so, and name it, when they have no such tool. */
const toolFailed = /"isError"\s*:\s*true/
const isAnswerFor = (name: string, result: string | undefined): boolean =>
  result !== undefined && !(toolFailed.test(result) && result.includes(JSON.stringify(name).slice(1, -1)))

type Counted = Pick<Passage, "backend" | "listener" | "route">

/** What the last request about an item was: most are like it. */
interface Latest extends Pick<Counted, "listener" | "route">, Pick<McpFacts, "method" | "resourceType" | "target"> {
  readonly series: Series
}

interface Known {
  readonly all: Map<string, Series>
  readonly latest: Map<string | undefined, Latest>
}

/**
 * Counts what is known of a request once it is over.
 * @param calls of targets.
 */
export const makeMcpSeries = (metrics: Metrics["Service"], calls: Series) => {
  const requests = metrics.counter("mcp_requests_total", "MCP requests, by what they were about.", [
    "method",
    "resource_type",
    "server",
    "resource",
    ...placeLabels
  ])

  // By backend object: the series of a configuration that was replaced go with it.
  const byBackend = new WeakMap<object, Known>()
  const seriesOf = (passage: Counted, { method, resourceType, target, name, result }: McpFacts): Series => {
    const owner = passage.backend ?? byBackend
    let known = byBackend.get(owner)
    if (known === undefined) {
      known = { all: new Map(), latest: new Map() }
      byBackend.set(owner, known)
    }
    const { listener, route } = passage
    // Ids of tasks are as many as there are tasks.
    const item = resourceType === "task" ? undefined : name
    const last = known.latest.get(item)
    if (
      last !== undefined &&
      last.method === method &&
      last.target === target &&
      last.resourceType === resourceType &&
      last.listener === listener &&
      last.route === route
    )
      return last.series
    const place = placeOf(passage)
    const keyOf = (labels: ReadonlyArray<string | undefined>) => JSON.stringify([...labels, ...place])
    const verb = method === undefined || isKnownMethod(method) ? method : "other"
    let labels = [verb, resourceType, target, item]
    if (item !== undefined && !known.all.has(keyOf(labels))) {
      // Anyone can make a name up: it counts by itself from the first time on that the target answers for it.
      if (!isAnswerFor(item, result)) labels = [verb, resourceType, target, "unknown"]
      else if (known.all.size >= mostSeries) labels = [verb, resourceType, target, "other"]
    }
    const key = keyOf(labels)
    let series = known.all.get(key)
    if (series === undefined) {
      series = requests.series([...labels, ...place])
      known.all.set(key, series)
    }
    if (labels[3] === item) known.latest.set(item, { method, resourceType, target, listener, route, series })
    return series
  }

  return (passage: Counted, facts: McpFacts): void => {
    for (const { startedAt, endedAt } of facts.calls)
      if (endedAt !== undefined) calls.record((endedAt - startedAt) / 1000)
    if (facts.method !== undefined) seriesOf(passage, facts).record(1)
  }
}
