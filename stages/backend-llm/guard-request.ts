/** A guard over a prompt, before it goes into the provider's words. */
import { Effect, Exit } from "effect"
import { slots } from "../../src/policy/policy.ts"
import type { Left, OptionalNode } from "../../src/policy/terminal.ts"
import type { Engine } from "./engine.ts"
import type { Exchange, ModelSlots } from "./exchange.ts"
import type { GuardPlace } from "./guard-places.ts"
import { askGuard } from "./guards.ts"
import type { Negotiated } from "./negotiate.ts"
import { GuardRejected, LlmFailed } from "./refused.ts"

const failed = { side: "request", status: 503, detail: "prompt guard failed", reason: "Guardrail" } as const
const guardFailed = new LlmFailed(failed)
const guardStopped = new LlmFailed({ ...failed, unforgiven: true })

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
  return Effect.flatMapEager(asked, (outcome): Left<Negotiated> => {
    switch (outcome.type) {
      case "failed":
        return Exit.fail(guardStopped)
      case "answered":
        return Exit.fail(new GuardRejected(outcome.answer))
      case "changed":
        return Exit.succeed({ ...negotiated, prompt: outcome.body })
      case "continue":
        // The engine forgives it, and says so.
        return outcome.action === "FailOpen" ? Exit.fail(guardFailed) : Exit.succeed(negotiated)
    }
  })
}
