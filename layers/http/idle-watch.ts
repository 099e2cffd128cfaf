/**
 * Gives up on bodies of a call that do not move: those of its request and of its answer, and both directions of a connection that has
 * left HTTP. What moves notes the time; a timer looks at it once in a while.
 */
import { BodyAborted, type BodySink, type BodySource, PassingBody } from "../../src/http/body.ts"
import type { HeaderList } from "../../src/http/header-list.ts"
import type { Later } from "../../src/services/timer.ts"
import type { Silent } from "../../src/services/upstreams.ts"

/** How long nothing may move, in milliseconds, and who is told when nothing did. */
export interface IdleLimit {
  readonly milliseconds: number
  readonly passed: (silent: Silent) => void
}

export class IdleWatch {
  readonly #limit: IdleLimit
  readonly #over: (silent: Silent) => void
  readonly #later: Later
  readonly #now: () => number
  /** Those that are on their way, the first one first. */
  readonly #underWay = new Set<WatchedBody>()
  #callOff: (() => void) | undefined = undefined
  #moved = 0

  /** @param over told when nothing has moved for as long as it may, before the bodies are cut. */
  constructor(limit: IdleLimit, over: (silent: Silent) => void, later: Later, now: () => number) {
    this.#limit = limit
    this.#over = over
    this.#later = later
    this.#now = now
  }

  /** The same body, watched from its start to its end. */
  watched(source: BodySource, from: Silent): BodySource {
    return new WatchedBody(source, from, this)
  }

  begun(body: WatchedBody): void {
    this.#underWay.add(body)
    this.moved()
    if (this.#callOff === undefined) this.#arm(this.#limit.milliseconds)
  }

  moved(): void {
    this.#moved = this.#now()
  }

  ended(body: WatchedBody): void {
    this.#underWay.delete(body)
    if (this.#underWay.size === 0) this.#rest()
  }

  #rest(): void {
    this.#callOff?.()
    this.#callOff = undefined
  }

  #arm(milliseconds: number): void {
    this.#callOff = this.#later(milliseconds, () => {
      const left = this.#limit.milliseconds - (this.#now() - this.#moved)
      if (left > 0) this.#arm(left)
      else this.#cut()
    })
  }

  #cut(): void {
    this.#rest()
    const bodies = [...this.#underWay]
    const silent = bodies[0]!.silent
    this.#limit.passed(silent)
    this.#over(silent)
    for (const body of bodies) body.cut(silent)
  }
}

class WatchedBody extends PassingBody {
  readonly #from: Silent
  readonly #watch: IdleWatch
  /** Whoever takes it has asked to wait. */
  #held = false
  #over = false

  constructor(source: BodySource, from: Silent, watch: IdleWatch) {
    super(source)
    this.#from = from
    this.#watch = watch
  }

  get silent(): Silent {
    return (this.#from === "client") === this.#held ? "backend" : "client"
  }

  override start(sink: BodySink): void {
    this.#watch.begun(this)
    super.start(sink)
  }
  override resume(): void {
    this.#held = false
    this.#watch.moved()
    super.resume()
  }
  data(chunk: Uint8Array): boolean {
    if (this.#over) return false
    this.#watch.moved()
    const more = this.sink!.data(chunk)
    this.#held = !more
    return more
  }
  override end(trailers?: HeaderList): void {
    if (this.#close()) super.end(trailers)
  }
  override fail(error: BodyAborted): void {
    if (this.#close()) super.fail(error)
  }
  override cancel(): void {
    this.#close()
    super.cancel()
  }

  /** Nothing of it has moved for too long. */
  cut(silent: Silent): void {
    if (!this.#close()) return
    super.cancel()
    super.fail(new BodyAborted({ source: silent, detail: "nothing has moved for too long" }))
  }

  #close(): boolean {
    if (this.#over) return false
    this.#over = true
    this.#watch.ended(this)
    return true
  }
}
