/** The two directions of a call with many messages: a body that is made of those that are sent, and those that a body is made of. */
import { Effect, Exit } from "effect"
import type { BodyAborted, BodySink, BodySource } from "../../http/body.ts"
import { HeaderList } from "../../http/header-list.ts"
import type { StageError } from "../stage.ts"
import { Deframer, framed } from "./frames.ts"
import { endingOf, failed } from "./status.ts"

type Told<A> = (exit: Exit.Exit<A, StageError>) => void

/** The messages that are sent. */
export class Outgoing implements BodySource {
  #sink: BodySink | undefined = undefined
  /** Whoever takes them has asked to wait, or is not there yet. */
  #held = true
  readonly #waiting: Array<{ readonly bytes: Uint8Array; readonly told: Told<void> }> = []
  #ended = false
  #over: StageError | undefined = undefined

  /** Ends when it was taken. */
  send(message: Uint8Array): Effect.Effect<void, StageError> {
    return Effect.callback((resume) => {
      const fault = this.#over ?? (this.#ended ? failed("CANCELLED", "nothing is sent any more") : undefined)
      if (fault !== undefined) {
        resume(Exit.fail(fault))
        return undefined
      }
      const one = { bytes: framed(message), told: resume }
      this.#waiting.push(one)
      this.#flush()
      return Effect.sync(() => {
        const at = this.#waiting.indexOf(one)
        if (at >= 0) this.#waiting.splice(at, 1)
      })
    })
  }

  /** No more follow. */
  finish(): void {
    if (this.#ended || this.#over !== undefined) return
    this.#ended = true
    this.#flush()
  }

  /** Nobody takes any more. */
  close(why: StageError): void {
    if (this.#over !== undefined) return
    this.#over = why
    for (const { told } of this.#waiting.splice(0)) told(Exit.fail(why))
  }

  #flush(): void {
    const sink = this.#sink
    if (sink === undefined) return
    while (!this.#held && this.#over === undefined) {
      const one = this.#waiting.shift()
      if (one === undefined) {
        if (!this.#ended) return
        this.#over = failed("CANCELLED", "nothing is sent any more")
        sink.end()
        return
      }
      // `resume` within the call takes the hold back.
      this.#held = true
      if (sink.data(one.bytes)) this.#held = false
      one.told(Exit.void)
    }
  }

  // What whoever sends the body asks for.

  start(sink: BodySink): void {
    this.#sink = sink
    this.#held = false
    this.#flush()
  }
  resume(): void {
    this.#held = false
    this.#flush()
  }
  cancel(): void {
    this.close(failed("CANCELLED", "the server takes no more messages"))
  }
}

/** How many messages are kept that nobody has asked for, before the server is made to wait. */
const mostAhead = 8

/** The messages that come. */
export class Incoming implements BodySink {
  readonly #deframer: Deframer
  readonly #messages: Array<Uint8Array> = []
  #source: BodySource | undefined = undefined
  #paused = false
  #receiving: Told<Uint8Array | undefined> | undefined = undefined
  #over: StageError | "well" | undefined = undefined
  readonly #ended: (how: StageError | "well") => void
  trailers: HeaderList | undefined = undefined

  /** @param ended told once how it ended. */
  constructor(most: number, ended: (how: StageError | "well") => void) {
    this.#deframer = new Deframer(most, (message) => this.#messages.push(message))
    this.#ended = ended
  }

  /** The next one; `undefined`: there are no more. */
  readonly receive: Effect.Effect<Uint8Array | undefined, StageError> = Effect.callback((resume) => {
    this.#receiving = resume
    this.#hand()
    return Effect.sync(() => {
      if (this.#receiving === resume) this.#receiving = undefined
    })
  })

  from(source: BodySource): void {
    this.#source = source
    source.start(this)
  }

  conclude(how: StageError | "well"): void {
    if (this.#over !== undefined) return
    this.#over = how
    // What was given up, or is no answer, is not read on.
    if (how !== "well") this.#messages.length = 0
    this.#ended(how)
    this.#hand()
  }

  /** Lets go of the rest. */
  stop(): void {
    this.#source?.cancel()
  }

  #hand(): void {
    const told = this.#receiving
    if (told === undefined) return
    const message = this.#messages.shift()
    if (message === undefined && this.#over === undefined) return
    this.#receiving = undefined
    told(message !== undefined || this.#over === "well" ? Exit.succeed(message) : Exit.fail(this.#over!))
    if (this.#paused && this.#messages.length < mostAhead) {
      this.#paused = false
      this.#source?.resume()
    }
  }

  // What comes.

  data(chunk: Uint8Array): boolean {
    if (this.#over !== undefined) return false
    const fault = this.#deframer.take(chunk)
    if (fault !== undefined) {
      this.conclude(fault)
      return false
    }
    while (this.#receiving !== undefined && this.#messages.length > 0) this.#hand()
    this.#paused = this.#messages.length >= mostAhead
    return !this.#paused
  }
  end(trailers?: HeaderList): void {
    this.trailers = trailers ?? new HeaderList()
    const ending = endingOf(this.trailers)
    this.conclude(
      ending ?? (this.#deframer.isAmid ? failed("INTERNAL", "the last message is not whole", this.trailers) : "well")
    )
  }
  fail(error: BodyAborted): void {
    this.conclude(error)
  }
}
