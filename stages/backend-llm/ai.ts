/** ai: models of one provider, or of several in groups, behind a route of one's own. */
import { Effect } from "effect"
import { terminal } from "../../src/policy/terminal.ts"
import { modelCall, reads } from "./exchange.ts"
import { AiSchema, endpointPolicies } from "./schema.ts"

export const backendAi = terminal({
  name: "ai",
  schema: AiSchema,
  reads,
  writes: [modelCall],
  outcomes: ["next", "respond", "fail"],
  maturity: { status: "stable", untrusted: "client+backend" },
  applies: endpointPolicies,
  compile: (config) =>
    Effect.gen(function* () {
      const { compileProviders } = yield* Effect.promise(() => import("./providers.ts"))
      return yield* compileProviders(config)
    })
})
