/** The guards over what a model says: each over an answer or an error that is whole, all of them over a stream as it passes. */
import { Effect, Exit } from "effect"
import { type Answer, slots } from "../../src/policy/policy.ts"
import { defaultBodyLimit, type Left, type OptionalNode } from "../../src/policy/terminal.ts"
import { isObject } from "../../src/protocols/llm/formats/json.ts"
import { GuardWindow } from "../../src/protocols/llm/guard/window.ts"
import type { Engine } from "./engine.ts"
import type { Exchange, ModelSlots } from "./exchange.ts"
import type { GuardPlace } from "./guard-places.ts"
import { GuardedStream } from "./guarded-stream.ts"
import { askGuard, judgeText } from "./guards.ts"
import type { Observed, Whole } from "./observe.ts"
import { GuardRejected, LlmFailed } from "./refused.ts"
import { replace } from "./translate-back.ts"

const failed = { side: "response", status: 503, detail: "prompt guard failed", reason: "Guardrail" } as const
const guardFailed = new LlmFailed(failed)
const guardStopped = new LlmFailed({ ...failed, unforgiven: true })
const invalid = new LlmFailed({
  side: "response",
  status: 502,
  detail: "body is not JSON",
  reason: "UpstreamFailure",
  unforgiven: true
})

/** Those over what is whole. */
export const guardResponse =
  (engine: Engine) =>
  ({ path, failOpen, guards }: GuardPlace): OptionalNode<ModelSlots, Observed> => ({
    name: "guardResponse",
    path,
    failOpen,
    outcomes: ["next", "fail"],
    reads: slots.expressionSlots,
    when: {
      text: "the whole answer of a model with this guard",
      holds: (_, { type, call }) => type === "whole" && call.conversation !== undefined && guards.has(call.endpoint)
    },
    run: (x, observed) => (observed.type === "whole" ? judged(engine, guards, x, observed) : Exit.succeed(observed))
  })

const judged = (engine: Engine, guards: GuardPlace["guards"], x: Exchange, whole: Whole): Left<Whole> => {
  const { call, document, text, told } = whole
  const { conversation, endpoint } = call
  const guard = guards.get(endpoint)
  if (conversation === undefined || guard === undefined) return Exit.succeed(whole)
  if (document === "answer" && !isObject(told)) return Exit.fail(invalid)
  // An error that is no JSON object is read as the text that it is.
  const read = isObject(told) ? told : { text: typeof told === "string" ? told : text }
  const asked = askGuard(guard, x, conversation, document, read, (outcome) => engine.guarded("Response", outcome))
  return Effect.flatMapEager(asked, (outcome): Left<Whole> => {
    switch (outcome.type) {
      case "failed":
        return Exit.fail(guardStopped)
      case "answered":
        return Exit.fail(new GuardRejected(outcome.answer))
      case "changed": {
        const left = isObject(told) ? outcome.body : outcome.body["text"]
        if (isObject(told)) replace(x.response!, left)
        else plain(x.response!, left)
        return Exit.succeed({ ...whole, told: left })
      }
      case "continue":
        // The engine forgives it, and says so.
        return outcome.action === "FailOpen" ? Exit.fail(guardFailed) : Exit.succeed(whole)
    }
  })
}

const plain = (answer: Answer, text: unknown): void => {
  answer.body = typeof text === "string" ? text : ""
  answer.headers.delete("content-length")
}

/** All of them over a stream: what they say of its text comes when the phases are over. */
export const guardStream = (engine: Engine): OptionalNode<ModelSlots, Observed> => ({
  name: "guardStream",
  outcomes: ["next", "fail"],
  reads: slots.expressionSlots,
  when: {
    text: "the stream of a model whose guards read streams",
    holds: (_, { type, call }) => {
      const { response, streaming } = call.endpoint.guards
      return type === "stream" && streaming && response.length > 0 && call.conversation !== undefined
    }
  },
  run: (x, observed) => {
    const { conversation, endpoint } = observed.call
    if (observed.type !== "stream" || conversation === undefined) return Exit.succeed(observed)
    const answer = x.response!
    // Guards read events as the client does; a framing that is neither its own nor translated cannot be read.
    if (!answer.headers.get("content-type")?.includes("text/event-stream")) return Exit.fail(invalid)
    answer.headers.delete("content-length")
    answer.body = new GuardedStream(
      observed.events,
      new GuardWindow(conversation, defaultBodyLimit),
      (text) => judgeText(endpoint.guards.response, x, text, (outcome) => engine.guarded("Response", outcome)),
      engine.fork
    )
    return Exit.succeed(observed)
  }
})
