/**
 * mcpAuthorization: decides which tools, prompts and resources of an MCP backend a caller sees and may use. It notes the
 * rules; the relay asks them for every item.
 */
import { Effect } from "effect"
import {
  type ContentFailure,
  compileRules,
  contentReadings,
  expressionReadings,
  next,
  pathReadings,
  policy,
  slots,
  type Verdict
} from "../../src/policy/policy.ts"
import { McpAuthorization } from "./schema.ts"

const notThere = { status: 200, message: "Unknown tool: …" }

export const mcpAuthorization = policy({
  name: "mcpAuthorization",
  traceKey: "mcpAuthorization",
  schema: McpAuthorization,
  sites: ["backend"],
  responds: [],
  reads: slots.expressionSlots,
  writes: [slots.mcpRules],
  outcomes: ["next", "fail"],
  failsClosed: [
    ...contentReadings("mcpAuthorization"),
    // Of what cannot be read, and of what is denied, a client is told that there is no such thing.
    ...[...expressionReadings("mcpAuthorization"), ...pathReadings("mcpAuthorization")].map((reading) => ({
      ...reading,
      refusal: notThere
    }))
  ],
  maturity: { status: "stable", untrusted: "client+backend" },
  compile: ({ rules }) =>
    Effect.map(compileRules(rules, "mcp", ["rules"]), (compiled) => {
      const { prepare } = compiled
      return [
        {
          name: "mcpAuthorization",
          phase: "request",
          run: (x): Effect.Effect<Verdict, ContentFailure> => {
            const noted = () => {
              x.set(slots.mcpRules, compiled)
              return next
            }
            return prepare === undefined ? noted() : Effect.flatMapEager(prepare(x), noted)
          }
        }
      ]
    })
})
