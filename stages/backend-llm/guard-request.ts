/** The guards over a prompt, before it goes into the provider's words. */
import { Effect, Exit } from "effect"
import type { Left } from "../../src/policy/terminal.ts"
import type { Engine } from "./engine.ts"
import type { Exchange } from "./exchange.ts"
import { runGuards } from "./guards.ts"
import type { Negotiated } from "./negotiate.ts"
import { GuardRejected, LlmFailed } from "./refused.ts"

const guardFailed = new LlmFailed({ side: "request", status: 503, detail: "prompt guard failed", reason: "Guardrail" })

export const isPromptGuarded = (_: Exchange, { conversation, endpoint }: Negotiated): boolean =>
  conversation !== undefined && endpoint.guards.request.length > 0

export const guardRequest =
  ({ guarded }: Engine) =>
  (x: Exchange, negotiated: Negotiated): Left<Negotiated> => {
    const { conversation, endpoint, prompt } = negotiated
    if (conversation === undefined) return Exit.succeed(negotiated)
    const judged = runGuards(endpoint.guards.request, x, conversation, "request", prompt, (outcome) =>
      guarded("Request", outcome)
    )
    return Effect.flatMapEager(judged, (outcome): Left<Negotiated> => {
      switch (outcome.type) {
        case "failed":
          return Exit.fail(guardFailed)
        case "answered":
          return Exit.fail(new GuardRejected(outcome.answer))
        case "changed":
          return Exit.succeed({ ...negotiated, prompt: outcome.body })
        case "continue":
          return Exit.succeed(negotiated)
      }
    })
  }
