/** Authorization rules over what an MCP request names: its tools, prompts, resources and tasks. */
import type { Exchange } from "./exchange.ts"
import { type Asking, type Rules, rulingOf } from "./rules.ts"

/** What the rules decide about. Names are the target's own, without a prefix. */
export interface McpItem {
  readonly kind: "tool" | "prompt" | "resource" | "task"
  readonly target: string
  /** Name of the tool or prompt, URI (or URI template) of the resource, id of the task. */
  readonly name: string
  /** The method in whose course the question comes up, as `tools/list`. */
  readonly method: string
}

/**
 * Decides about the items of one request. Only the object of the item's own kind exists meanwhile, so that a rule over
 * tools is false for every prompt.
 * @param rules compiled for the phase `mcp`.
 */
export const mcpAuthorizer =
  (rules: Rules, exchange: Asking & Pick<Exchange, "variables">, sessionId: string | undefined) =>
  ({ kind, target, name, method }: McpItem): boolean => {
    const { variables } = exchange
    variables.mcp = { methodName: method, sessionId, [kind]: { target, name } }
    // What the rules cannot read is refused like what they deny: an item is not there.
    const permitted = rulingOf(rules, exchange) === "allow"
    variables.mcp = undefined
    return permitted
  }
