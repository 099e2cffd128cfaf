/** The graph of a model call: what happens to a request on its way to a provider, and to the answer on its way back, in this order. */
import { slots } from "../../src/policy/policy.ts"
import { type CompiledBackend, type Left, type Passage, TerminalGraph } from "../../src/policy/terminal.ts"
import { budget, isBudgeted } from "./budget.ts"
import { classify } from "./classify.ts"
import type { Endpoint } from "./endpoint.ts"
import type { Engine } from "./engine.ts"
import { enrich } from "./enrich.ts"
import { type Exchange, type ModelSlots, modelCall } from "./exchange.ts"
import { guardPlaces } from "./guard-places.ts"
import { guardRequest } from "./guard-request.ts"
import { guardResponse, guardStream, isStreamGuarded } from "./guard-response.ts"
import { negotiate } from "./negotiate.ts"
import { observe } from "./observe.ts"
import type { Selected } from "./selected.ts"
import { send } from "./send.ts"
import { translate } from "./translate.ts"
import { isTranslated, translateBack } from "./translate-back.ts"

const { affinity, expressionSlots, jwt, modelAccess, timeouts, tokenBudgets } = slots

type Select = (x: Exchange, passage: Passage) => Left<Selected>

/** The terminal of whoever selects one of these endpoints. */
export const modelCalls = (
  engine: Engine,
  endpoints: ReadonlyArray<Endpoint>,
  balanced: Pick<CompiledBackend<ModelSlots>, "endpoints" | "elsewhere">,
  select: Select
): CompiledBackend<ModelSlots> => ({
  type: "ai",
  protocol: "llm",
  target: [...new Set(endpoints.map(({ provider }) => provider.name))].join(","),
  ...balanced,
  // The mock takes its time by itself.
  keepsTime: endpoints.every(({ destination }) => destination.type !== "mock"),
  ...graphOf(engine, endpoints, select).laid
})

const graphOf = (engine: Engine, endpoints: ReadonlyArray<Endpoint>, select: Select) =>
  TerminalGraph.over<ModelSlots>(modelCall)
    .node({
      name: "select",
      outcomes: ["next", "respond", "fail"],
      reads: [...expressionSlots, affinity, modelAccess],
      run: (x, _, passage) => select(x, passage)
    })
    .node({ name: "classify", outcomes: ["next", "respond", "fail"], run: classify })
    .node({ name: "enrich", outcomes: ["next"], reads: expressionSlots, run: enrich })
    .node({ name: "negotiate", outcomes: ["next", "respond", "fail"], run: negotiate(engine) })
    .perhaps([
      {
        name: "budget",
        outcomes: ["next", "fail"],
        reads: [...expressionSlots, tokenBudgets],
        when: { text: "tokens are limited", holds: isBudgeted },
        run: budget(engine)
      }
    ])
    .perhaps(guardPlaces(endpoints, "request").map(guardRequest(engine)))
    .node({ name: "translate", outcomes: ["next", "fail"], reads: expressionSlots, run: translate(engine) })
    .calling(endpoints.some(isTokenPassed) ? [jwt, timeouts] : [timeouts], send)
    .node({ name: "observe", outcomes: ["next", "fail"], reads: expressionSlots, run: observe(engine) })
    .perhaps([
      {
        name: "translateBack",
        outcomes: ["next", "fail"],
        when: { text: "the answer is not in the client's words", holds: isTranslated },
        run: translateBack(engine)
      }
    ])
    .afterwards(
      guardPlaces(endpoints, "response").map(guardResponse(engine)),
      endpoints.some(isStreamGuarded) ? guardStream : undefined
    )

const isTokenPassed = ({ destination }: Endpoint): boolean => destination.type === "http" && destination.passesToken
