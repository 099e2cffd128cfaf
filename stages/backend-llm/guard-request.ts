/** A guard over a prompt, before it goes into the provider's words. */
import { Exit } from "effect"
import { slots } from "../../src/policy/policy.ts"
import type { Left, OptionalNode } from "../../src/policy/terminal.ts"
import type { Engine } from "./engine.ts"
import type { Exchange, ModelSlots } from "./exchange.ts"
import type { GuardPlace } from "./guard-places.ts"
import { askGuard, decided } from "./guards.ts"
import type { Negotiated } from "./negotiate.ts"

export const guardRequest =
  (engine: Engine) =>
  ({ path, failOpen, guards }: GuardPlace): OptionalNode<ModelSlots, Negotiated> => ({
    name: "guardRequest",
    path,
    failOpen,
    outcomes: ["next", "fail"],
    reads: slots.expressionSlots,
    when: {
      text: "the prompt of a model with this guard",
      holds: (_, { conversation, endpoint }) => conversation !== undefined && guards.has(endpoint)
    },
    run: (x, negotiated) => judged(engine, guards, x, negotiated)
  })

const judged = (
  engine: Engine,
  guards: GuardPlace["guards"],
  x: Exchange,
  negotiated: Negotiated
): Left<Negotiated> => {
  const { conversation, endpoint, prompt } = negotiated
  const guard = guards.get(endpoint)
  if (conversation === undefined || guard === undefined) return Exit.succeed(negotiated)
  const asked = askGuard(guard, x, conversation, "request", prompt, (outcome) => engine.guarded("Request", outcome))
  return decided("request", asked, negotiated, (prompt) => ({ ...negotiated, prompt }))
}
