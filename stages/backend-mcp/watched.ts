/** Shows the calls that the relay makes for one request to whoever watches that request. */
import { Context } from "effect"
import { formatTraceparent, type OutboundWatch, type Passage, WatchCalls } from "../../src/policy/terminal.ts"
import type { McpTarget } from "../../src/protocols/mcp/config.ts"
import type { McpObserver, McpUpstreamCall } from "../../src/protocols/mcp/contract.ts"
import type { Exchange } from "./exchange.ts"

/** `undefined` when nobody watches. */
export const observerOf = (
  x: Exchange,
  { watch }: Passage,
  targets: ReadonlyArray<McpTarget>
): McpObserver | undefined => {
  if (watch === undefined) return undefined
  const open = new Map<McpUpstreamCall, OutboundWatch>()
  const addressOf = (name: string) => addressOfTarget(targets.find((target) => target.name === name)) ?? name
  return {
    started: (call) => {
      const { target, method } = call
      const item = itemOf(call)
      const outbound = watch.outbound({
        scope: `mcp ${target}`,
        name: `${method} ${target}${item === undefined || item.key === "mcp.resource.uri" ? "" : `_${item.name}`}`,
        target: addressOf(target),
        call: call.name === undefined ? method : `${method} ${call.name}`,
        attributes: {
          "hg.outbound.kind": "primary",
          "hg.outbound.subtype": "mcp",
          "mcp.target": target,
          "mcp.method.name": method,
          ...(item === undefined ? {} : { [item.key]: item.name })
        }
      })
      open.set(call, outbound)
      const { context } = outbound
      if (context === undefined) return undefined
      return {
        traceparent: formatTraceparent(context),
        tracestate: x.request.headers.get("tracestate"),
        baggage: x.request.headers.get("baggage")
      }
    },
    within: (call) => {
      const outbound = open.get(call)?.outbound
      return outbound && Context.make(WatchCalls, outbound)
    },
    finished: (call) => {
      const overHttp = targets.some(({ name, kind }) => name === call.target && kind !== "stdio")
      open.get(call)?.ended({
        // A call of a server behind HTTP that did not fail was accepted; which 2xx it was makes no difference.
        status: call.failure === undefined ? (overHttp ? 200 : undefined) : call.failure.status,
        error: errorOf(call)
      })
      open.delete(call)
    }
  }
}

/** What the call is about, under the name that attributes have for it. */
const itemOf = ({ method, name }: McpUpstreamCall) => {
  if (name === undefined || method.startsWith("tasks/")) return undefined
  const key =
    method === "tools/call" ? "gen_ai.tool.name" : method === "prompts/get" ? "gen_ai.prompt.name" : "mcp.resource.uri"
  return { key, name } as const
}

const addressOfTarget = (target: McpTarget | undefined): string | undefined => {
  if (target === undefined || target.kind === "stdio") return undefined
  return target.address.replace("https://", "")
}

const errorOf = ({ failure }: McpUpstreamCall): string | undefined =>
  failure === undefined
    ? undefined
    : failure.code === undefined
      ? failure.message
      : `JSON-RPC error ${failure.code}: ${failure.message}`
