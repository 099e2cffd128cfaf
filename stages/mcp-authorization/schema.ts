/** The wire shape of mcpAuthorization: rules over tools, prompts and resources. */
import { declared, expressionsOf, named, RuleSet } from "../../spec/policy.ts"

export const McpAuthorization = named(
  RuleSet,
  "McpAuthorization",
  "Decides by rules over `mcp.tool`, `mcp.prompt` and `mcp.resource` what a caller sees and may call: lists are filtered, calls are refused."
)

export const mcpAuthorization = declared(McpAuthorization, {
  places: ["route", "backend"],
  onRoute: "backend",
  decides: "access",
  joins: { lists: "rules" },
  expressions: expressionsOf,
  backends: ["mcp"]
})
