/** llm: routes a request to the model that it names, and watches what the answer used and cost. */
import { Effect } from "effect"
import { terminal } from "../../src/policy/terminal.ts"
import { indexModels } from "../../src/protocols/llm/models/selection.ts"
import { makeEngine, modelCalls } from "./engine.ts"
import { preparedCall, reads } from "./exchange.ts"
import { compileModels } from "./models.ts"
import { guardReadings, routed, routerReadings } from "./router.ts"
import { LlmRouterSchema } from "./schema.ts"
import { compileVirtual } from "./virtual.ts"

export const backendLlm = terminal({
  name: "llm",
  schema: LlmRouterSchema,
  reads,
  writes: [preparedCall],
  outcomes: ["next", "respond", "fail"],
  nodes: { prepare: ["next", "respond", "fail"], answered: ["next", "fail"] },
  maturity: { status: "stable", untrusted: "client+backend" },
  failsClosed: [
    ...routerReadings("llm.models.authorization"),
    ...routerReadings("llm.virtualModels.conditional"),
    ...guardReadings
  ],
  compile: (config) =>
    Effect.gen(function* () {
      const engine = yield* makeEngine
      const models = yield* compileModels(config.models)
      const index = indexModels(models)
      const healthOf = (target: string) => {
        const found = index.select(target, () => "take")
        return found.type === "found" ? found.model.watched.health : undefined
      }
      const virtual = yield* compileVirtual(config.virtualModels, healthOf, engine.clock, Math.random)
      const router = { index, virtual }
      return modelCalls(engine, models, (x, keep) => routed(engine, router, x, keep))
    })
})
