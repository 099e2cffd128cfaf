/**
 * What protects the process from more than it can do: bounds on connections and on the delay of the event loop. One for the
 * process; every listener asks it before it begins something new, whatever protocol its clients speak.
 */
import type { Socket } from "node:net"
import { performance } from "node:perf_hooks"
import { contained } from "../../src/services/contained.ts"
import { plainAddress } from "../plain-address.ts"
import { Crowd } from "./crowd.ts"
import { LoopLoad } from "./loop-load.ts"

export interface OverloadLimits {
  readonly maxConnections: number
  readonly maxConnectionsPerAddress: number
  /** Connections of one port whose TLS handshakes are under way. */
  readonly maxHandshakes: number
  /** Milliseconds that the loop may be late; 0: nobody is turned away. */
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
export type Bounds = Pick<Overload, "limits" | "admits" | "enter">

export class Overload {
  readonly limits: OverloadLimits
  readonly #crowd: Crowd
  readonly #load: LoopLoad
  readonly #defect: (cause: unknown) => void

  constructor(limits: OverloadLimits, clock: () => number, defect: (cause: unknown) => void) {
    this.limits = limits
    this.#defect = defect
    this.#crowd = new Crowd({ most: limits.maxConnections, mostOfAddress: limits.maxConnectionsPerAddress })
    this.#load = new LoopLoad({
      most: limits.maxDelay,
      clock,
      idle: () => performance.eventLoopUtilization().idle,
      atEndOfTurn: setImmediate,
      defect
    })
  }

  /** Whether another request, or a handshake, may begin: asked once for each. */
  admits(): boolean {
    return this.#load.admits()
  }

  /** Counts a connection for as long as it is open, or says why it is one too many. */
  enter(socket: Socket): TurnedAway | undefined {
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

  /** Milliseconds that the last turn of the loop took in which something began. */
  get lateness(): number {
    return this.#load.lateness
  }
}
