/**
 * How much the peer may send before it is told to go on. The window of each stream begins small and grows while one of them fills it
 * within a round trip, which pings measure; the windows of all streams together are bounded, since what comes for slow readers
 * is held here. (The runtime gives back what came to the window of the connection at once: streams alone hold anybody up.)
 */

/** Bytes of the window that a stream begins with. */
export const firstWindow = 262_144
/** Bytes that all streams of a session may send together, as long as each has its least. */
export const mostOfSession = 4_194_304
const leastOfStream = 65_536

export interface WindowSession {
  /** Measures a round trip. Returns whether it does. */
  readonly ping: (answered: () => void) => boolean
  /** Says how much streams may send from now on. */
  readonly resize: (window: number) => void
}

/** What one stream has brought. */
export class Inflow {
  /** The measurement during which it was counted. */
  round = 0
  bytes = 0
}

export class Windows {
  readonly #session: WindowSession
  #window = firstWindow
  #open = 0
  #round = 0
  #measuring = false
  /** The most that one stream has brought in this round. */
  #peak = 0

  constructor(session: WindowSession) {
    this.#session = session
  }

  get window(): number {
    return this.#window
  }

  /** So many streams are open now. */
  opened(open: number): void {
    this.#open = open
    const bound = this.#bound()
    if (this.#window > bound) this.#resize(bound)
  }

  closed(open: number): void {
    this.#open = open
  }

  /** Somebody took so many bytes of a stream. */
  received(inflow: Inflow, bytes: number): void {
    if (this.#window >= mostOfSession) return
    if (inflow.round !== this.#round) {
      inflow.round = this.#round
      inflow.bytes = 0
    }
    inflow.bytes += bytes
    if (this.#measuring) this.#peak = Math.max(this.#peak, inflow.bytes)
    // A quarter of the window at once: what is small needs no larger one.
    else if (inflow.bytes >= this.#window / 4 && this.#window < this.#bound()) this.#measure()
  }

  #measure(): void {
    this.#round++
    this.#peak = 0
    this.#measuring = this.#session.ping(() => {
      this.#measuring = false
      this.#round++
      const bound = this.#bound()
      if (this.#peak >= this.#window / 2 && this.#window < bound) this.#resize(Math.min(bound, this.#window * 2))
    })
  }

  /** What each stream may have: in steps, so that it is not said anew with every stream. */
  #bound(): number {
    let bound = mostOfSession
    while (bound > leastOfStream && bound * this.#open > mostOfSession) bound /= 2
    return bound
  }

  #resize(window: number): void {
    this.#window = window
    this.#session.resize(window)
  }
}
