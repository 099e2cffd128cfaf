/** Authorization rules over what an MCP request names: its tools, prompts, resources and tasks. Their names are the target's own, without a prefix. */
import type { McpItem } from "../../spec/trace-events.ts"
import type { Exchange } from "./exchange.ts"
import { type Asking, type Rules, rulingOf } from "./rules.ts"

/**
 * Decides about the items of one request. Only the object of the item's own kind exists meanwhile, so that a rule over
 * tools is false for every prompt.
 * @param rules compiled for the phase `mcp`.
 */
export const mcpAuthorizer =
  (rules: Rules, exchange: Asking & Pick<Exchange, "variables">, sessionId: string | undefined) =>
  (item: McpItem): boolean => {
    const { kind, target, name, method } = item
    const { variables } = exchange
    variables.mcp = { methodName: method, sessionId, [kind]: { target, name } }
    // What the rules cannot read is refused like what they deny: an item is not there.
    const permitted = rulingOf(rules, exchange, item) === "allow"
    variables.mcp = undefined
    return permitted
  }
