/** The guards over prompts and completions of a model: in order, each on what the ones before left, the first refusal counts. */
import { Effect, Exit, Result } from "effect"
import {
  type ConfigPath,
  type ConfigProblem,
  compileHeaderChanges,
  HeaderList,
  type PromptGuard,
  unavailable
} from "../../src/policy/policy.ts"
import type { Left } from "../../src/policy/terminal.ts"
import type { JsonObject } from "../../src/protocols/llm/formats/json.ts"
import type { ContentScope } from "../../src/protocols/llm/guard/assignment.ts"
import { applyRegexGuard } from "../../src/protocols/llm/guard/evaluate.ts"
import {
  type Enforcement,
  enforce,
  type Finding,
  type GuardAnswer,
  type GuardOutcome
} from "../../src/protocols/llm/guard/outcome.ts"
import { compileRegexGuard } from "../../src/protocols/llm/guard/regex-guard.ts"
import { type Document, everyScope, type GuardedFormat } from "../../src/protocols/llm/guard/texts.ts"
import type { GuardPhase } from "../../src/protocols/llm/guard/webhook.ts"
import type { Exchange } from "./exchange.ts"
import { GuardRejected, LlmFailed } from "./refused.ts"
import { compileWebhook, type WebhookNeeds } from "./webhook.ts"

type GuardConfig = NonNullable<PromptGuard["request"]>[number] | NonNullable<PromptGuard["response"]>[number]

/** Looks at a body and says what it found. */
export type Evaluate = (
  x: Exchange,
  format: GuardedFormat,
  document: Document,
  body: JsonObject
) => Effect.Effect<Finding>

export interface Guard {
  /** Where it stands. */
  readonly path: ConfigPath
  readonly evaluate: Evaluate
  readonly enforcement: Enforcement
}

export interface Guards {
  readonly request: ReadonlyArray<Guard>
  readonly response: ReadonlyArray<Guard>
  /** Whether those of the response judge streams, too. */
  readonly streaming: boolean
}

/** Whether there is any guard. */
export const isGuarding = ({ request, response }: Guards): boolean => request.length > 0 || response.length > 0

/**
 * Compiles the guards of a model, in order.
 * @param at where a part of them stands. Problems carry whole paths.
 */
export const compileGuards = (
  section: PromptGuard | undefined,
  at: (part: ConfigPath) => ConfigPath
): Effect.Effect<Guards, ReadonlyArray<ConfigProblem>, WebhookNeeds> =>
  Effect.gen(function* () {
    const guards = {
      request: [] as Array<Guard>,
      response: [] as Array<Guard>,
      streaming: section?.streaming === "Enabled"
    }
    const problems: Array<ConfigProblem> = []
    for (const phase of ["request", "response"] as const)
      for (const [index, config] of (section?.[phase] ?? []).entries()) {
        const compiled = yield* Effect.result(compileGuard(phase, config, (part) => at([phase, index, ...part])))
        if (Result.isSuccess(compiled)) guards[phase].push(compiled.success)
        else problems.push(...compiled.failure)
      }
    return problems.length > 0 ? yield* Effect.fail(problems) : guards
  })

const compileGuard = (
  phase: GuardPhase,
  config: GuardConfig,
  at: (part: ConfigPath) => ConfigPath
): Effect.Effect<Guard, ReadonlyArray<ConfigProblem>, WebhookNeeds> =>
  Effect.gen(function* () {
    const rejection = rejectionOf(config, at)
    if ("problems" in rejection) return yield* Effect.fail(rejection.problems)
    const { regex, webhook } = config
    if (regex !== undefined) {
      const compiled = compileRegexGuard(regex.rules)
      if (Result.isFailure(compiled))
        return yield* Effect.fail(
          compiled.failure.map(({ index, problem }) => ({ path: at(["regex", "rules", index]), message: problem }))
        )
      // An answer is one scope.
      const scopes = phase === "request" ? scopesOf(config) : everyScope
      const action = regex.action === "mask" ? "mask" : "reject"
      return {
        path: at([]),
        // Looking at text cannot fail but for its depth and size, and then nothing is known of it.
        enforcement: { audit: regex.action === "audit", failureMode: "failClosed" },
        evaluate: (_, format, document, body) =>
          Effect.succeed(applyRegexGuard(compiled.success, action, rejection, format, document, body, scopes))
      }
    }
    if (webhook !== undefined)
      return {
        path: at([]),
        enforcement: { audit: webhook.action === "audit", failureMode: webhook.failureMode },
        evaluate: yield* compileWebhook(phase, webhook, at)
      }
    const kind = Object.keys(config).find((key) => key !== "rejection" && key !== "scope") ?? "guard"
    return yield* Effect.fail([unavailable(at([kind]), `a ${kind} guard`)])
  })

const scopesOf = (config: GuardConfig): ReadonlySet<ContentScope> =>
  new Set("scope" in config ? config.scope : ["systemPrompt", "messages"])

const rejectionOf = (
  { rejection }: GuardConfig,
  at: (part: ConfigPath) => ConfigPath
): GuardAnswer | { readonly problems: ReadonlyArray<ConfigProblem> } => {
  const headers = new HeaderList()
  if (rejection.headers !== undefined) {
    const changes = compileHeaderChanges(rejection.headers)
    if ("problems" in changes)
      return {
        problems: changes.problems.map(({ path, message }) => ({
          path: at(["rejection", "headers", ...path]),
          message
        }))
      }
    changes.apply(headers)
  }
  const body = typeof rejection.body === "string" ? rejection.body : new TextDecoder().decode(rejection.body)
  return { status: rejection.status, body, headers: [...headers] }
}

/** Asks one guard. `told` hears what came of it. */
export const askGuard = (
  { evaluate, enforcement }: Guard,
  x: Exchange,
  format: GuardedFormat,
  document: Document,
  body: JsonObject,
  told: (outcome: GuardOutcome) => void
): Effect.Effect<GuardOutcome> =>
  Effect.mapEager(evaluate(x, format, document, body), (found) => {
    const outcome = enforce(found, enforcement)
    told(outcome)
    return outcome
  })

const failing = (side: "request" | "response") => {
  const failed = { side, status: 503, detail: "prompt guard failed", reason: "Guardrail" } as const
  return { forgivable: new LlmFailed(failed), final: new LlmFailed({ ...failed, unforgiven: true }) }
}
const failures = { request: failing("request"), response: failing("response") } as const

/** What an outcome means to the engine, which applies the fail modes and says so. `changed` gets what a guard has masked. */
export const decided = <T>(
  side: "request" | "response",
  asked: Effect.Effect<GuardOutcome>,
  judged: T,
  changed: (body: JsonObject) => T
): Left<T> =>
  Effect.flatMapEager(asked, (outcome): Left<T> => {
    switch (outcome.type) {
      case "failed":
        return Exit.fail(failures[side].final)
      case "answered":
        return Exit.fail(new GuardRejected(outcome.answer))
      case "changed":
        return Exit.succeed(changed(outcome.body))
      case "continue":
        return outcome.action === "FailOpen" ? Exit.fail(failures[side].forgivable) : Exit.succeed(judged)
    }
  })
