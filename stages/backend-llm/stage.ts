/** llm: routes a request to the model that it names, and watches what the answer used and cost. */
import { Effect } from "effect"
import { terminal } from "../../src/policy/terminal.ts"
import { modelCall, reads } from "./exchange.ts"
import { guardReadings, routerReadings } from "./readings.ts"
import { LlmRouterSchema } from "./schema.ts"

export const backendLlm = terminal({
  name: "llm",
  schema: LlmRouterSchema,
  reads,
  writes: [modelCall],
  outcomes: ["next", "respond", "fail"],
  maturity: { status: "stable", untrusted: "client+backend" },
  failsClosed: [
    ...routerReadings("llm.models.authorization"),
    ...routerReadings("llm.virtualModels.conditional"),
    ...guardReadings
  ],
  compile: (config) =>
    Effect.gen(function* () {
      const { compileRouter } = yield* Effect.promise(() => import("./router.ts"))
      return yield* compileRouter(config)
    })
})
