/** The budgets of tokens that stand before a model: the request takes its share of them, and what it does not use goes back. */
import { Effect, Exit } from "effect"
import { type StageError, slots } from "../../src/policy/policy.ts"
import type { Left } from "../../src/policy/terminal.ts"
import type { ClientFormat } from "../../src/protocols/llm/formats/format.ts"
import type { Engine } from "./engine.ts"
import type { Exchange } from "./exchange.ts"
import type { Negotiated } from "./negotiate.ts"
import { counted } from "./tokens.ts"

/** A share that goes back whole, unless the model is called for it. */
export class Reservation {
  readonly #share: slots.TokenShare
  #charged = false

  constructor(share: slots.TokenShare, x: Exchange) {
    this.#share = share
    x.onFinish(() => {
      if (!this.#charged) share.settle(0, 0)
    })
  }

  /** From here on whoever calls the model settles it. */
  charge(): slots.TokenShare {
    this.#charged = true
    return this.#share
  }
}

/** Counting tokens uses none. */
const uncounted: ReadonlySet<ClientFormat> = new Set(["anthropicTokenCount", "geminiCountTokens"])

export const isBudgeted = (x: Exchange, { clientFormat }: Negotiated): boolean =>
  x.get(slots.tokenBudgets) !== undefined && !uncounted.has(clientFormat)

export const budget =
  (engine: Engine) =>
  (x: Exchange, negotiated: Negotiated): Left<Negotiated> => {
    const { endpoint, conversation, providerModel, prompt, estimate } = negotiated
    const exact = endpoint.tokenize && conversation !== undefined
    const tokens: Effect.Effect<number, StageError> = exact
      ? counted(engine, conversation, providerModel, prompt)
      : Exit.succeed(estimate())
    return Effect.flatMapEager(tokens, (tokens) =>
      Effect.mapEager(x.get(slots.tokenBudgets)!.reserve(x, tokens, exact), (share) => ({
        ...negotiated,
        reservation: new Reservation(share, x)
      }))
    )
  }
