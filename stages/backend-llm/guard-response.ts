/**
 * The guards over what a model says: each is a node over an answer or an error that is whole, and, when the phases are over, over the pieces
 * of a stream as it passes.
 */
import { Effect, Exit } from "effect"
import { type Answer, slots } from "../../src/policy/policy.ts"
import type { Afterwards, Left, OptionalNode } from "../../src/policy/terminal.ts"
import { isObject } from "../../src/protocols/llm/formats/json.ts"
import type { GuardOutcome } from "../../src/protocols/llm/guard/outcome.ts"
import { GuardWindow } from "../../src/protocols/llm/guard/window.ts"
import type { Endpoint } from "./endpoint.ts"
import type { Engine } from "./engine.ts"
import type { Exchange, ModelSlots } from "./exchange.ts"
import type { GuardPlace } from "./guard-places.ts"
import { GuardedStream } from "./guarded-stream.ts"
import { askGuard, decided, type Guard } from "./guards.ts"
import type { Observed, Piece, Whole } from "./observe.ts"
import { LlmFailed } from "./refused.ts"
import { replace } from "./translate-back.ts"

const undecided = { side: "response", status: 502, reason: "UpstreamFailure", unforgiven: true } as const
const invalid = new LlmFailed({ ...undecided, detail: "body is not JSON" })
const unreadable = new LlmFailed({ ...undecided, detail: "an event cannot be read" })

export const guardResponse =
  (engine: Engine) =>
  ({ path, failOpen, guards }: GuardPlace): OptionalNode<ModelSlots, Observed> => ({
    name: "guardResponse",
    path,
    failOpen,
    outcomes: ["next", "fail"],
    reads: slots.expressionSlots,
    when: {
      text: "an answer of a model with this guard is whole, or a piece of it is about to pass",
      holds: (_, { type, call }) =>
        (type === "whole" || type === "piece") && call.conversation !== undefined && guards.has(call.endpoint)
    },
    run: (x, observed) => {
      const guard = guards.get(observed.call.endpoint)
      if (guard === undefined) return Exit.succeed(observed)
      const told = (outcome: GuardOutcome) => engine.guarded("Response", outcome)
      switch (observed.type) {
        case "whole":
          return wholeJudged(guard, x, observed, told)
        case "piece":
          return pieceJudged(guard, x, observed, told)
        default:
          return Exit.succeed(observed)
      }
    }
  })

type Heard = (outcome: GuardOutcome) => void

const wholeJudged = (guard: Guard, x: Exchange, whole: Whole, heard: Heard): Left<Whole> => {
  const { call, document, text, told } = whole
  const { conversation } = call
  if (conversation === undefined) return Exit.succeed(whole)
  if (document === "answer" && !isObject(told)) return Exit.fail(invalid)
  // An error that is no JSON object is read as the text that it is.
  const read = isObject(told) ? told : { text: typeof told === "string" ? told : text }
  return decided("response", askGuard(guard, x, conversation, document, read, heard), whole, (body) => {
    const left = isObject(told) ? body : body["text"]
    if (isObject(told)) replace(x.response!, left)
    else plain(x.response!, left)
    return { ...whole, told: left }
  })
}

/** What would be masked passes, because some of it is with the client already; the guards behind see it masked. */
const pieceJudged = (guard: Guard, x: Exchange, piece: Piece, heard: Heard): Left<Piece> =>
  piece.told === undefined
    ? Exit.fail(unreadable)
    : decided("response", askGuard(guard, x, "completions", "answer", piece.told, heard), piece, (told) => {
        x.note("mask", "not applied to what is streamed")
        return { ...piece, told }
      })

const plain = (answer: Answer, text: unknown): void => {
  answer.body = typeof text === "string" ? text : ""
  answer.headers.delete("content-length")
}

/** Whether guards of an endpoint judge streams. */
export const isStreamGuarded = ({ guards: { response, streaming } }: Pick<Endpoint, "guards">): boolean =>
  streaming && response.length > 0

/** The text of a piece, as an answer that says it. */
const saying = (text: string) => ({ choices: [{ message: { role: "assistant", content: text } }] })

/** Has all of them judge what a stream says, piece by piece: with the context of the request, and no longer than it. */
export const guardStream = (judged: Afterwards<ModelSlots, Observed>): OptionalNode<ModelSlots, Observed> => ({
  name: "guardStream",
  outcomes: ["next", "fail"],
  when: {
    text: "the stream of a model whose guards read streams",
    holds: (_, { type, call }) => type === "stream" && isStreamGuarded(call.endpoint) && call.conversation !== undefined
  },
  run: (x, observed, passage) => {
    const { call } = observed
    const { conversation } = call
    if (observed.type !== "stream" || conversation === undefined) return Exit.succeed(observed)
    const answer = x.response!
    // Guards read events as the client does; a framing that is neither its own nor translated cannot be read.
    if (!answer.headers.get("content-type")?.includes("text/event-stream")) return Exit.fail(invalid)
    return Effect.withFiber(({ context }) => {
      answer.headers.delete("content-length")
      const guarded = new GuardedStream(observed.events, {
        format: conversation,
        window: new GuardWindow(conversation, x.bodyLimit),
        room: x.settings.heldBytes,
        judge: (text) =>
          judged(x, { type: "piece", call, told: text === undefined ? undefined : saying(text) }, passage),
        fork: Effect.runForkWith(context),
        told: x.watched ? (judgement) => x.note("judgement", judgement) : undefined
      })
      answer.body = guarded
      x.onFinish(() => guarded.close())
      return Exit.succeed(observed)
    })
  }
})
