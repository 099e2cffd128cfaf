/**
 * localRateLimit: limits requests, or the tokens of a model, by buckets in this process. Requests are counted here, before
 * any body is parsed; tokens are counted by whoever calls the model, who alone knows them.
 */
import { Effect, Exit, Result } from "effect"
import {
  type ConfigProblem,
  type ContentFailure,
  compileExpression,
  contentReadings,
  expressionReadings,
  formatPath,
  type Node,
  next,
  policy,
  preparation,
  RateLimits,
  slots,
  type Unreadable,
  type Verdict,
  type View
} from "../../src/policy/policy.ts"
import { drawAll, forgetTold, type Limit, type RateLimited } from "./limits.ts"
import { LocalRateLimit } from "./schema.ts"

export const localRateLimit = policy({
  name: "localRateLimit",
  traceKey: "localRateLimit",
  schema: LocalRateLimit,
  sites: ["route"],
  responds: [],
  reads: slots.expressionSlots,
  writes: [slots.tokenBudgets],
  outcomes: ["next", "fail"],
  failsClosed: [...contentReadings("localRateLimit"), ...expressionReadings("localRateLimit")],
  maturity: { status: "stable", untrusted: "client" },
  compile: (rules, { site, path }) =>
    Effect.gen(function* () {
      const rateLimits = yield* RateLimits
      const problems: Array<ConfigProblem> = []
      const limits = { requests: [] as Array<Limit>, tokens: [] as Array<Limit> }
      for (const [index, rule] of rules.entries()) {
        const phase = rule.type === "tokens" ? "llm" : site
        const key = yield* rule.key === undefined
          ? Effect.succeed(Result.succeed(undefined))
          : Effect.result(compileExpression(rule.key, phase, [index, "key"]))
        if (Result.isFailure(key)) {
          problems.push(...key.failure)
          continue
        }
        const buckets = yield* rateLimits.open(rule, formatPath([...path, index]))
        limits[rule.type].push({ size: rule.maxTokens, key: key.success, buckets })
      }
      if (problems.length > 0) return yield* Effect.fail(problems)

      const nodes: Array<Node<never, typeof slots.tokenBudgets, RateLimited | ContentFailure>> = []
      if (limits.requests.length > 0)
        nodes.push({ name: "localRateLimit", phase: "request", writes: [], run: counting(limits.requests) })
      if (limits.tokens.length > 0) {
        const budgets = budgetsOf(limits.tokens)
        nodes.push({
          name: "localRateLimit.tokens",
          phase: "request",
          outcomes: ["next"],
          run: (x) => {
            x.set(slots.tokenBudgets, budgets)
            return next
          }
        })
      }
      return nodes
    })
})

/** Counts a request. */
const counting = (limits: ReadonlyArray<Limit>) => {
  const draw = (x: View<never, never>): Exit.Exit<Verdict, RateLimited | Unreadable> => {
    const { refused } = drawAll(limits, x, 1, "all")
    return refused === undefined ? next : Exit.fail(refused)
  }
  const prepare = preparation(limits.flatMap(({ key }) => key ?? []))
  if (prepare === undefined) return draw
  return (x: View<never, never>): Effect.Effect<Verdict, RateLimited | ContentFailure> =>
    Effect.flatMapEager(prepare(x), () => draw(x))
}

/** Lets whoever calls the model reserve tokens, and settle them when it has answered. */
const budgetsOf = (limits: ReadonlyArray<Limit>): slots.TokenBudgets => ({
  reserve: (exchange, estimate, exact) => {
    const { draws, refused } = drawAll(limits, exchange, estimate, exact ? "all" : "any")
    if (refused !== undefined) {
      // The model is not called: what other budgets gave goes back.
      for (const draw of draws) draw.settle(0)
      forgetTold(exchange.answerHeaders)
      return Exit.fail(refused)
    }
    return Exit.succeed({
      settle: (inputTokens, outputTokens) => {
        for (const draw of draws) draw.settle((inputTokens ?? draw.taken) + outputTokens)
      }
    })
  }
})
