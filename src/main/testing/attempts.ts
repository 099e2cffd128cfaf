/** Attempts that come to nothing in every way there is, and leave of themselves what they can: what laws about attempts play with. */
import { Effect } from "effect"
import { isSource } from "../../http/body.ts"
import { HeaderList } from "../../http/header-list.ts"
import type { Answer } from "../../http/message.ts"
import type { Plan } from "../../pipeline/attempts.ts"
import type { Exchange } from "../../pipeline/exchange.ts"
import type { Passage } from "../../pipeline/passage.ts"
import * as slots from "../../pipeline/slots.ts"
import type { StageError } from "../../pipeline/stage.ts"
import { type Reached, UpstreamFailed } from "../../services/upstreams.ts"
import { bodyOf, collect } from "./flow.ts"
import type { World } from "./world.ts"

/** How an attempt comes to nothing. */
export const troubles = [
  "refused at once",
  "cut in the body of the request",
  "cut behind the body of the request",
  "answered with a failure in one piece",
  "answered with a failure in a stream",
  "answered with a failure before the body of the request"
] as const
export type Trouble = (typeof troubles)[number]

const failed = (reached: Reached) => Effect.fail(new UpstreamFailed({ kind: "reset", detail: "by the law", reached }))

/** Takes the first chunk of a body and no more. */
const begin = (x: Exchange): Effect.Effect<void> => {
  const body = x.requestBody
  if (!isSource(body)) return Effect.void
  return Effect.callback((resume) => {
    body.start({
      data: () => {
        body.cancel()
        resume(Effect.void)
        return false
      },
      end: () => resume(Effect.void),
      fail: () => resume(Effect.void)
    })
    return Effect.sync(() => body.cancel())
  })
}

export interface Troubled {
  readonly plan: Plan
  readonly call: (world: World) => (x: Exchange, passage: Passage) => Effect.Effect<Answer, StageError>
  /** How many attempts came to nothing. */
  readonly made: () => number
  /** Attempts that were not told how they ended, or more than once. */
  readonly untold: () => number
}

/** Every request meets these troubles before its backend is called. */
export const troubled = (before: ReadonlyArray<Trouble>): Troubled => {
  const numbers = new WeakMap<Exchange, number>()
  let made = 0
  const told: Array<number> = []
  const plan: Plan = {
    attempts: before.length + 1,
    again: ({ number }) => (number <= before.length ? 0 : undefined)
  }
  const answer = (body: Answer["body"]): Answer => ({
    status: 503,
    headers: new HeaderList(["x-left", "1", "retry-after", "3"]),
    body
  })
  const call =
    (world: World) =>
    (x: Exchange, { received }: Passage) => {
      const number = numbers.get(received) ?? 0
      numbers.set(received, number + 1)
      const trouble = before[number]
      if (trouble === undefined) return world.backend(x)
      made++
      const index = told.push(0) - 1
      x.onFinish(() => {
        told[index]!++
      })
      x.request.headers.set("x-left", "1")
      x.request.moveTo("/left")
      x.answerHeaders.set("x-left", "1")
      x.fact("left", true)
      x.set(slots.authorityRewritten, true)
      if (trouble === "refused at once") return failed("nothing sent")
      if (trouble === "cut in the body of the request") return Effect.andThen(begin(x), failed("sent"))
      if (trouble === "answered with a failure before the body of the request") return Effect.succeed(answer(undefined))
      const whole = collect(x.requestBody)
      if (trouble === "cut behind the body of the request") return Effect.andThen(whole, failed("sent"))
      const streamed = trouble === "answered with a failure in a stream"
      return Effect.map(whole, () =>
        answer(bodyOf("dropped answer", { streamed, chunks: ["what", " ", "is left"] }, world.flows))
      )
    }
  return { plan, call, made: () => made, untold: () => told.filter((times) => times !== 1).length }
}
