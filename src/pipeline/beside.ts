/**
 * The nodes that run beside the call of a backend, each in a fiber of its own, from the call on until they have decided or the exchange is
 * over. One that answers or fails stops the call, whatever has come of it by then.
 */
import { Cause, type Context, Effect, Exit, Fiber } from "effect"
import { type Body, BodyAborted, isSource, PassingBody } from "../http/body.ts"
import type { Answer } from "../http/message.ts"
import type { Passage } from "./passage.ts"
import type { Loop, Step } from "./run.ts"
import type { StageError, Verdict } from "./stage.ts"

/** What a node said that goes on with nothing. */
export type Stop = Exit.Exit<Answer, StageError>

interface Running {
  readonly fiber: Fiber.Fiber<Verdict, StageError>
  readonly began: number
}

const nobody = (): void => {}

export class Beside {
  readonly #clock: () => number
  readonly #running = new Map<Step, Running>()
  #stop: Stop | undefined
  #taken = false
  #over = false
  /** Called at each change, whoever waits for one. */
  #changed: () => void = nobody
  #body: StoppableBody | undefined

  constructor(clock: () => number) {
    this.#clock = clock
  }

  /** What a node stopped the call with, where nobody has taken that into account yet. */
  takeStop(): Stop | undefined {
    const stop = this.#taken ? undefined : this.#stop
    this.#taken ||= stop !== undefined
    return stop
  }

  /** Whether a node has stopped the call. */
  get stopped(): boolean {
    return this.#stop !== undefined
  }

  #start(steps: ReadonlyArray<Step>, passage: Passage, loop: Loop, context: Context.Context<never>): void {
    for (const step of steps) {
      const began = this.#clock()
      const outcome = loop([step], passage, 0)
      if (Exit.isExit(outcome)) this.#decided(step, outcome as Exit.Exit<Verdict, StageError>)
      else {
        const fiber = Effect.runForkWith(context)(outcome)
        this.#running.set(step, { fiber, began })
        fiber.addObserver((exit) => this.#decided(step, exit))
      }
      if (this.#stop !== undefined) return
    }
  }

  #decided(step: Step, exit: Exit.Exit<Verdict, StageError>): void {
    if (this.#over) return
    this.#running.delete(step)
    const goesOn = Exit.isSuccess(exit) ? exit.value === undefined : Cause.hasInterruptsOnly(exit.cause)
    if (!goesOn) {
      this.#stop = exit as Stop
      this.end()
      this.#body?.stop(`stopped by ${step.node}`)
    }
    this.#changed()
  }

  /** No node has anything to say any more. */
  end(): void {
    if (this.#over) return
    this.#over = true
    for (const [step, { fiber, began }] of this.#running) {
      step.latency.record(this.#clock() - began)
      fiber.interruptUnsafe()
    }
    this.#running.clear()
  }

  /** What the call comes to; interrupted and without a value when a node stopped it first. */
  race(
    call: Effect.Effect<Answer, StageError>,
    steps: ReadonlyArray<Step>,
    passage: Passage,
    loop: Loop
  ): Effect.Effect<Exit.Exit<Answer, StageError> | undefined> {
    return Effect.withFiber((parent) =>
      Effect.callback((resume) => {
        this.#start(steps, passage, loop, parent.context)
        if (this.#stop !== undefined) {
          resume(Exit.succeed(undefined))
          return
        }
        const fiber = Effect.runForkWith(parent.context)(call)
        this.#changed = () => {
          if (this.#stop === undefined) return
          this.#changed = nobody
          // First: what the call holds is released before anybody answers.
          fiber.interruptUnsafe()
          resume(Exit.succeed(undefined))
        }
        fiber.addObserver((exit) => {
          if (this.#stop !== undefined) return
          this.#changed = nobody
          resume(Exit.succeed(exit))
        })
        return Effect.suspend(() => {
          this.end()
          return Fiber.interrupt(fiber)
        })
      })
    )
  }

  get #mayPass(): boolean {
    if (this.#stop !== undefined) return true
    for (const { answerWaits } of this.#running.keys()) if (answerWaits !== false) return false
    return true
  }

  /** Ends when no node keeps the answer waiting, or one has stopped it. */
  get passed(): Effect.Effect<void> {
    if (this.#mayPass) return Exit.void
    return Effect.callback((resume) => {
      this.#changed = () => {
        if (!this.#mayPass) return
        this.#changed = nobody
        resume(Exit.void)
      }
    })
  }

  /** The body of an answer that passes, while nodes may still stop it. */
  watched(body: Body): Body {
    if (this.#running.size === 0 || !isSource(body)) return body
    this.#body = new StoppableBody(body)
    return this.#body
  }
}

/** A body on its way that may be cut. */
class StoppableBody extends PassingBody {
  #cut: BodyAborted | undefined

  stop(detail: string): void {
    this.#cut = new BodyAborted({ source: "proxy", detail })
    super.cancel()
    this.sink?.fail(this.#cut)
  }
  override start(sink: Parameters<PassingBody["start"]>[0]): void {
    if (this.#cut === undefined) super.start(sink)
    else sink.fail(this.#cut)
  }
  data(chunk: Uint8Array): boolean {
    return this.#cut === undefined && this.sink!.data(chunk)
  }
  override end(...trailers: Parameters<PassingBody["end"]>): void {
    if (this.#cut === undefined) super.end(...trailers)
  }
  override fail(error: BodyAborted): void {
    if (this.#cut === undefined) super.fail(error)
  }
}
