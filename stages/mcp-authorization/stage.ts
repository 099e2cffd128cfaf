/**
 * mcpAuthorization: decides which tools, prompts and resources of an MCP backend a caller sees and may use. It notes the
 * rules; the relay asks them for every item.
 */
import { Effect } from "effect"
import { compileRules } from "../../src/pipeline/rules.ts"
import { mcpRules } from "../../src/pipeline/slots.ts"
import { next, policy } from "../../src/pipeline/stage.ts"
import { McpAuthorization } from "./schema.ts"

export const mcpAuthorization = policy({
  name: "mcpAuthorization",
  traceKey: "mcpAuthorization",
  schema: McpAuthorization,
  sites: ["backend"],
  responds: [],
  reads: [],
  writes: [mcpRules],
  outcomes: ["next"],
  maturity: { status: "stable", untrusted: "client+backend" },
  compile: ({ rules }) =>
    Effect.map(compileRules(rules, "mcp", ["rules"]), (compiled) => [
      {
        name: "mcpAuthorization",
        phase: "request",
        run: (x) => {
          x.set(mcpRules, compiled)
          return next
        }
      }
    ])
})
