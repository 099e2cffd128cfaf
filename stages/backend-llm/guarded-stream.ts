/** A streamed answer under guard: what guards have not judged yet is held back; a judgement stops the stream or lets a window go. */
import { Buffer } from "node:buffer"
import { type Effect, Exit, type Fiber } from "effect"
import { type BodyAborted, PassingBody, type StageError } from "../../src/policy/policy.ts"
import type { GuardedFormat } from "../../src/protocols/llm/guard/texts.ts"
import {
  blockedEvent,
  failedGuardMessage,
  type GuardWindow,
  type WindowStep
} from "../../src/protocols/llm/guard/window.ts"
import { SpokenLines } from "../../src/protocols/llm/sse/spoken.ts"
import type { EventBody } from "./event-body.ts"
import type { Exchange } from "./exchange.ts"
import { GuardRejected } from "./refused.ts"

/** Says why a text must not pass, if it must not. Without a text: what came cannot be read. */
export type Judge = (text: string | undefined) => Effect.Effect<StageError | undefined>

/** Starts what is waited for, with all that its request has. */
export type Fork = <A>(effect: Effect.Effect<A>) => Fiber.Fiber<A>

/** What is told of a judgement. */
export interface Judgement {
  /** Which one of the stream, from 1 on. */
  readonly judgement: number
  /** Bytes of text that were judged; of the stream, those held back until then, and those that the client has got now. */
  readonly textBytes: number
  readonly heldBytes: number
  readonly passedBytes: number
  readonly verdict: "pass" | "cut" | "given up"
  /** Why the stream was cut. */
  readonly reason?: string | undefined
}

export interface Guarding {
  readonly format: GuardedFormat
  readonly window: GuardWindow
  /** Of the process, for what is held back. */
  readonly room: Exchange["settings"]["heldBytes"]
  readonly judge: Judge
  readonly fork: Fork
  /** Absent where nobody wants to know. */
  readonly told: ((judgement: Judgement) => void) | undefined
}

export class GuardedStream extends PassingBody {
  readonly #events: EventBody
  readonly #guarding: Guarding
  /** Nothing passes that nobody judges. */
  readonly #lines = new SpokenLines()
  #judging: Fiber.Fiber<StageError | undefined> | undefined
  /** What is judged, while it is. */
  #text: string | undefined
  #judgements = 0
  #passedBytes = 0
  /** Of the room of the process. */
  #taken = 0
  #waiting = false
  #pushed = false
  #full = false
  #ended = false
  #failure: BodyAborted | undefined
  #over = false

  constructor(events: EventBody, guarding: Guarding) {
    super(events)
    this.#events = events
    this.#guarding = guarding
    events.heard = (event, data) => guarding.window.hear(event, data)
  }

  override resume(): void {
    this.#full = false
    if (!this.#waiting) super.resume()
  }
  override cancel(): void {
    this.close()
    super.cancel()
  }

  /** Nobody wants the rest: what is judged is let go of. */
  close(): void {
    if (this.#over) return
    this.#leave()
    if (!this.#waiting) return
    this.#judging?.interruptUnsafe()
    this.#tell("given up")
  }

  data(chunk: Uint8Array): boolean {
    if (this.#over) return false
    this.#pushed = true
    const { room, window } = this.#guarding
    const hasRoom = room.take(chunk.length)
    if (hasRoom) this.#taken += chunk.length
    this.#take(window.push(chunk, this.#events.boundary, hasRoom))
    this.#pushed = false
    return !this.#over && !this.#waiting && !this.#full
  }
  override end(): void {
    if (this.#over) return
    this.#ended = true
    this.#take(this.#guarding.window.end())
    this.#finish()
  }
  /** What came before is for the client all the same. */
  override fail(error: BodyAborted): void {
    if (this.#over) return
    this.#failure = error
    this.#ended = true
    this.#take(this.#guarding.window.cut())
    this.#finish()
  }

  #take(step: WindowStep): void {
    switch (step.type) {
      case "hold":
        return
      case "release":
        this.#release(step.chunks)
        return
      case "unreadable":
        this.#ask(undefined)
        return
      case "judge":
        this.#ask(step.text)
    }
  }

  #ask(text: string | undefined): void {
    const { fork, judge } = this.#guarding
    this.#waiting = true
    this.#text = text
    this.#judgements++
    this.#judging = fork(judge(text))
    this.#judging.addObserver((exit) => this.#judged(exit))
  }

  /** Whoever dies has not said that the text may pass. */
  #judged(exit: Exit.Exit<StageError | undefined>): void {
    if (this.#over) return
    const refused = Exit.isSuccess(exit) ? exit.value : undefined
    if (Exit.isFailure(exit) || refused !== undefined || this.#text === undefined) {
      this.#block(refused)
      return
    }
    const { window } = this.#guarding
    const heldBytes = window.bytes
    const chunks = window.pass()
    this.#waiting = false
    this.#release(chunks)
    this.#tell("pass", undefined, heldBytes)
    this.#take(window.next())
    if (this.#ended) this.#finish()
    else if (!this.#waiting && !this.#full && !this.#pushed) super.resume()
  }

  #block(refused: StageError | undefined): void {
    this.#leave()
    this.#waiting = false
    this.#tell("cut", refused?.message)
    super.cancel()
    const words = refused instanceof GuardRejected ? refused.content.body : failedGuardMessage
    this.sink!.data(Buffer.from(blockedEvent(this.#guarding.format, words), "utf8"))
    this.sink!.end()
  }

  #tell(verdict: Judgement["verdict"], reason?: string, heldBytes = this.#guarding.window.bytes): void {
    const { told } = this.#guarding
    if (told === undefined) return
    const textBytes = Buffer.byteLength(this.#text ?? "")
    told({ judgement: this.#judgements, textBytes, heldBytes, passedBytes: this.#passedBytes, verdict, reason })
  }

  /** A window is small: it goes as a whole, even if the client is slow. */
  #release(chunks: ReadonlyArray<Uint8Array>): void {
    for (const chunk of chunks) {
      this.#giveBack(Math.min(chunk.length, this.#taken))
      const spoken = this.#lines.push(chunk)
      if (spoken.length === 0) continue
      this.#passedBytes += spoken.length
      if (!this.sink!.data(spoken)) this.#full = true
    }
  }

  #giveBack(bytes: number): void {
    this.#taken -= bytes
    this.#guarding.room.giveBack(bytes)
  }

  #leave(): void {
    this.#over = true
    this.#giveBack(this.#taken)
  }

  #finish(): void {
    if (this.#waiting || this.#over) return
    this.#leave()
    if (this.#failure === undefined) this.sink!.end()
    else this.sink!.fail(this.#failure)
  }
}
