/**
 * What protects the process from more than it can do: bounds on connections and on the delay of the event loop. One for the
 * process; every listener asks it before it begins something new, whatever protocol its clients speak.
 */
import type { Socket } from "node:net"
import { performance } from "node:perf_hooks"
import { contained } from "../../src/services/contained.ts"
import { plainAddress } from "../plain-address.ts"
import { type Beginning, Beginnings } from "./beginnings.ts"
import { Crowd } from "./crowd.ts"

export interface OverloadLimits {
  readonly maxConnections: number
  readonly maxConnectionsPerAddress: number
  /** Connections of one port whose TLS handshakes are under way. */
  readonly maxHandshakes: number
  /** Milliseconds that a request may wait for its beginning; 0: nobody is turned away. */
  readonly maxDelay: number
}

/** Why somebody is turned away. */
export type TurnedAway = "LoopDelay" | "TooManyConnections" | "TooManyOfAddress" | "TooManyHandshakes"

export const defaultOverloadLimits: OverloadLimits = {
  maxConnections: 50_000,
  maxConnectionsPerAddress: 20_000,
  maxHandshakes: 2_048,
  maxDelay: 100
}

/** Seconds after which whoever was turned away may ask again. */
export const retryAfter = 1

/** What listeners ask. */
export type Bounds = Pick<Overload, "limits" | "begin" | "enqueue" | "admits" | "enter">

export class Overload {
  readonly limits: OverloadLimits
  readonly #crowd: Crowd
  readonly #beginnings: Beginnings
  readonly #defect: (cause: unknown) => void

  constructor(limits: OverloadLimits, clock: () => number, defect: (cause: unknown) => void) {
    this.limits = limits
    this.#defect = defect
    this.#crowd = new Crowd({ most: limits.maxConnections, mostOfAddress: limits.maxConnectionsPerAddress })
    this.#beginnings = new Beginnings({
      most: limits.maxDelay,
      clock,
      idle: () => performance.eventLoopUtilization().idle,
      atEndOfTurn: setImmediate,
      defect
    })
  }

  /** Whether a request may begin at once; otherwise it is told later, and may be turned away then. */
  begin(beginning: Beginning): boolean {
    return this.#beginnings.begin(beginning)
  }

  /** A request that another one of its connection has kept waiting. */
  enqueue(beginning: Beginning): void {
    this.#beginnings.enqueue(beginning)
  }

  /** Whether what cannot wait may begin, a handshake or a stream: asked once for each. */
  admits(): boolean {
    return this.#beginnings.admits()
  }

  /** Counts a connection for as long as it is open, or says why it is one too many. */
  enter(socket: Socket): TurnedAway | undefined {
    this.#beginnings.accepted()
    const address = plainAddress(socket.remoteAddress ?? "")
    const turnedAway = this.#crowd.enter(address)
    if (turnedAway !== undefined) return turnedAway
    const left = contained({ contain: this.#defect }, () => this.#crowd.leave(address))
    socket.once("close", left)
    return undefined
  }

  /** Open connections of clients. */
  get connections(): number {
    return this.#crowd.size
  }

  /** Milliseconds that whoever waits longest has waited, or that the last turn of the loop took. */
  get lateness(): number {
    return this.#beginnings.lateness
  }
}
