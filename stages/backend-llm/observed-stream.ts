/** A streamed answer that passes byte for byte, while what it used is read out of its events. */
import {
  BodyAborted as Aborted,
  type Body,
  type BodyAborted,
  type HeaderList,
  PassingBody
} from "../../src/policy/policy.ts"
import type { EventStreamBroken } from "../../src/protocols/llm/eventstream/failure.ts"
import type { SseTooLarge } from "../../src/protocols/llm/sse/limit.ts"
import { type Framing, StreamObserver, type StreamReader } from "../../src/protocols/llm/usage/stream.ts"
import type { EventBody } from "./event-body.ts"

type Broken = SseTooLarge | EventStreamBroken

export class ObservedStream extends PassingBody implements EventBody {
  readonly #observer: StreamObserver
  readonly #clock: () => number
  #readable = true
  #over = false

  constructor(source: Body, framing: Framing, reader: StreamReader, clock: () => number) {
    super(source)
    this.#observer = new StreamObserver(reader, framing)
    this.#clock = clock
  }

  get heard(): EventBody["heard"] {
    return this.#observer.heard
  }
  set heard(heard: EventBody["heard"]) {
    this.#observer.heard = heard
  }
  get boundary(): number {
    return this.#observer.boundary
  }

  data(chunk: Uint8Array): boolean {
    if (this.#over) return false
    const failure = this.#readable ? this.#observer.push(chunk, this.#clock()) : undefined
    if (failure !== undefined) {
      this.#readable = false
      if (this.heard !== undefined) {
        this.cancel()
        this.#break(failure)
        return false
      }
    }
    return this.sink!.data(chunk)
  }
  override end(trailers?: HeaderList): void {
    if (this.#over) return
    const failure = this.#readRest()
    if (failure !== undefined && this.heard !== undefined) this.#break(failure)
    else this.sink!.end(trailers)
  }
  override fail(error: BodyAborted): void {
    if (this.#over) return
    // What was cut off in the middle is no event for a client.
    this.heard = undefined
    this.#readRest()
    this.sink!.fail(error)
  }
  override cancel(): void {
    this.#readRest()
    super.cancel()
  }

  /** An event that was not over may hold the usage. */
  #readRest(): Broken | undefined {
    if (this.#over) return undefined
    this.#over = true
    return this.#readable ? this.#observer.end(this.#clock()) : undefined
  }

  /** Whoever reads the events must not be passed by what cannot be read. */
  #break({ message }: Broken): void {
    this.sink!.fail(new Aborted({ source: "backend", detail: message }))
  }
}
