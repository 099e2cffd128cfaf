/** The wire shape of mcpAuthorization: rules over tools, prompts and resources. */
import { named } from "../../spec/field.ts"
import { expressionsOf, RuleSet } from "../../spec/rules.ts"
import { declared } from "../../spec/standalone/policies.ts"

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
