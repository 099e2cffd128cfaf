/** A streamed answer under guard: what guards have not judged yet is held back; a judgement stops the stream or lets a window go. */
import { Buffer } from "node:buffer"
import { Effect, type Fiber } from "effect"
import { type BodyAborted, PassingBody } from "../../src/policy/policy.ts"
import {
  blockedEvent,
  failedGuardMessage,
  type GuardWindow,
  type WindowStep
} from "../../src/protocols/llm/guard/window.ts"
import type { EventBody } from "./event-body.ts"

/** What a client is told instead of the rest; `undefined` when the text may pass. */
export type Judge = (text: string) => Effect.Effect<string | undefined>

/** Starts what is waited for. */
export type Fork = <A>(effect: Effect.Effect<A>) => Fiber.Fiber<A>

export class GuardedStream extends PassingBody {
  readonly #events: EventBody
  readonly #window: GuardWindow
  readonly #judge: Judge
  readonly #fork: Fork
  #judging: Fiber.Fiber<void> | undefined
  #waiting = false
  #full = false
  #ended = false
  #over = false

  constructor(events: EventBody, window: GuardWindow, judge: Judge, fork: Fork) {
    super(events)
    this.#events = events
    events.heard = (event, data) => window.hear(event, data)
    this.#window = window
    this.#judge = judge
    this.#fork = fork
  }

  override resume(): void {
    this.#full = false
    if (!this.#waiting) super.resume()
  }
  override cancel(): void {
    this.#over = true
    this.#judging?.interruptUnsafe()
    super.cancel()
  }

  data(chunk: Uint8Array): boolean {
    if (this.#over) return false
    this.#take(this.#window.push(chunk, this.#events.boundary))
    return !this.#over && !this.#waiting && !this.#full
  }
  override end(): void {
    if (this.#over) return
    this.#ended = true
    this.#take(this.#window.end())
    this.#finish()
  }
  override fail(error: BodyAborted): void {
    if (this.#over) return
    this.#over = true
    this.sink!.fail(error)
  }

  #take(step: WindowStep): void {
    switch (step.type) {
      case "hold":
        return
      case "release":
        this.#release(step.chunks)
        return
      case "unreadable":
        this.#block(failedGuardMessage)
        return
      case "judge": {
        this.#waiting = true
        // A guard that dies has not said that the text may pass.
        const judged = Effect.suspend(() => this.#judge(step.text))
        const verdict = Effect.catchCause(judged, () => Effect.succeed(failedGuardMessage))
        this.#judging = this.#fork(Effect.map(verdict, (blocked) => this.#judged(blocked)))
      }
    }
  }

  #judged(blocked: string | undefined): void {
    if (this.#over) return
    this.#waiting = false
    if (blocked !== undefined) {
      this.#block(blocked)
      return
    }
    this.#release(this.#window.pass())
    this.#take(this.#window.next())
    if (this.#ended) this.#finish()
    else if (!this.#waiting && !this.#full) super.resume()
  }

  #block(message: string): void {
    this.#over = true
    super.cancel()
    this.sink!.data(Buffer.from(blockedEvent(message), "utf8"))
    this.sink!.end()
  }

  /** A window is small: it goes as a whole, even if the client is slow. */
  #release(chunks: ReadonlyArray<Uint8Array>): void {
    for (const chunk of chunks) if (!this.sink!.data(chunk)) this.#full = true
  }

  #finish(): void {
    if (this.#waiting || this.#over) return
    this.#over = true
    this.sink!.end()
  }
}
