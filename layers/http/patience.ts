/** For how long the backend is waited for: a time limit that stands still while the body of the request keeps the call waiting. */

import { type BodyAborted, type BodySource, PassingBody } from "../../src/http/body.ts"
import type { HeaderList } from "../../src/http/header-list.ts"
import type { Later } from "../../src/services/timer.ts"

export class Patience {
  readonly #later: Later
  readonly #now: () => number
  readonly #late: () => void
  /** Milliseconds that were left when it last began to run. */
  #left: number
  #since = 0
  /** While it runs. */
  #callOff: (() => void) | undefined = undefined
  #over = false

  constructor(milliseconds: number, late: () => void, later: Later, now: () => number) {
    this.#left = milliseconds
    this.#late = late
    this.#later = later
    this.#now = now
    this.goOn()
  }

  goOn(): void {
    if (this.#over || this.#callOff !== undefined) return
    this.#since = this.#now()
    this.#callOff = this.#later(Math.max(0, this.#left), () => {
      this.end()
      this.#late()
    })
  }

  standStill(): void {
    if (this.#callOff === undefined) return
    this.#callOff()
    this.#callOff = undefined
    this.#left -= this.#now() - this.#since
  }

  end(): void {
    this.#over = true
    this.#callOff?.()
    this.#callOff = undefined
  }
}

/** The body of a request, which tells whether its source is waited for, or whoever takes it. */
export class AwaitedBody extends PassingBody {
  readonly #patience: Patience

  constructor(source: BodySource, patience: Patience) {
    super(source)
    this.#patience = patience
  }
  override start(sink: Parameters<BodySource["start"]>[0]): void {
    this.#patience.standStill()
    super.start(sink)
  }
  override resume(): void {
    this.#patience.standStill()
    super.resume()
  }
  data(chunk: Uint8Array): boolean {
    const more = this.sink!.data(chunk)
    if (!more) this.#patience.goOn()
    return more
  }
  override end(trailers?: HeaderList): void {
    this.#patience.goOn()
    super.end(trailers)
  }
  override fail(error: BodyAborted): void {
    this.#patience.goOn()
    super.fail(error)
  }
}
