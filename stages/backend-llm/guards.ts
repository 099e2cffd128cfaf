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
import { failedGuardMessage } from "../../src/protocols/llm/guard/window.ts"
import type { Exchange } from "./exchange.ts"
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

/** Judges a window of a streamed answer; what would be masked passes, because some of it is with the client already. */
export const judgeText = (
  guards: ReadonlyArray<Guard>,
  x: Exchange,
  text: string,
  told: (outcome: GuardOutcome) => void
): Effect.Effect<string | undefined> => {
  const from = (index: number, body: JsonObject): Effect.Effect<string | undefined> => {
    const guard = guards[index]
    if (guard === undefined) return Exit.succeed(undefined)
    return Effect.flatMapEager(askGuard(guard, x, "completions", "answer", body, told), (outcome) => {
      switch (outcome.type) {
        case "answered":
          return Exit.succeed(outcome.answer.body)
        case "failed":
          return Exit.succeed(failedGuardMessage)
        case "changed":
          return from(index + 1, outcome.body)
        case "continue":
          return from(index + 1, body)
      }
    })
  }
  return from(0, { choices: [{ message: { role: "assistant", content: text } }] })
}
