/** A client's connection that is passed on: let in or not, connected to a backend, and watched until it is over. */
import type { Socket } from "node:net"
import { Cause, Data, Effect, Exit, type Fiber } from "effect"
import { Defect } from "../../src/pipeline/errors.ts"
import type { Relay } from "../../src/pipeline/relay.ts"
import { errorOf } from "../../src/pipeline/run.ts"
import type { StageError } from "../../src/pipeline/stage.ts"
import type { Peer } from "../../src/pipeline/view.ts"
import { contained, ignore } from "../../src/services/contained.ts"
import type { Stream } from "../../src/services/upstreams.ts"
import { type ClientConnection, endUnlessAdmitted, type Serving } from "../http/client-connection.ts"
import { reset } from "../http/refusal.ts"
import type { Secured } from "../tls/secured.ts"
import { type Broken, Pump } from "./pump.ts"
import { socketOf } from "./streams.ts"

/** One side has ended a connection before the other one had. */
export class BrokenOff extends Data.TaggedError("BrokenOff")<Broken> implements StageError {
  readonly status = 502
  readonly source = this.by
  override get message() {
    return `the ${this.by} has broken the connection off${this.code === undefined ? "" : `: ${this.code}`}`
  }
}

/** Nothing has moved on a connection for as long as that may last. */
export class StoodStill extends Data.TaggedError("StoodStill")<{ readonly by: Broken["by"] }> implements StageError {
  readonly status = 504
  readonly reason = "Timeout"
  readonly source = this.by
  override readonly message = "nothing has moved for too long"
}

/** The proxy itself has ended a connection. */
export class Ended extends Data.TaggedError("Ended")<{ readonly why: string }> implements StageError {
  readonly status = 503
  readonly source = "proxy"
  override get message() {
    return this.why
  }
}

export class RelayedConnection implements ClientConnection {
  readonly socket: Socket
  readonly peer: Peer
  readonly secured: Secured | undefined
  readonly #serving: Serving
  readonly #relay: Relay
  readonly #over: () => void
  #pump: Pump | undefined = undefined
  #fiber: Fiber.Fiber<unknown> | undefined = undefined
  #failure: StageError | undefined = undefined
  #refused = false
  #looking: NodeJS.Timeout | undefined = undefined

  /** @param over told when both of its sides are closed. */
  constructor(
    serving: Serving,
    socket: Socket,
    peer: Peer,
    secured: Secured | undefined,
    relay: Relay,
    over: () => void
  ) {
    this.#serving = serving
    this.#over = over
    this.socket = socket
    this.peer = peer
    this.secured = secured
    this.#relay = relay
    const closed = contained(this, () => this.#closed())
    socket.on("error", ignore).on("close", closed)
  }

  begin(): void {
    try {
      if (!this.#serving.overload.admits()) {
        this.#serving.turnedAway("connection", "LoopDelay")
        this.#refused = true
        this.socket.destroy()
        return
      }
      const decision = this.#serving.admit(this.peer)
      if (decision === undefined) this.#connect()
      else this.#whenDone(decision, (exit) => this.#decided(exit))
    } catch (cause) {
      this.contain(cause)
    }
  }

  #decided(exit: Exit.Exit<boolean>): void {
    if (Exit.isSuccess(exit) && exit.value) {
      this.#connect()
      return
    }
    this.#refused = true
    this.socket.destroy()
  }

  #connect(): void {
    this.#whenDone(this.#relay.connect, (exit) => {
      if (Exit.isSuccess(exit)) this.#join(exit.value)
      else {
        this.#failure ??= failureOf(exit.cause, this.#serving.defect)
        this.socket.destroy()
      }
    })
  }

  #whenDone<A, E>(effect: Effect.Effect<A, E>, done: (exit: Exit.Exit<A, E>) => void): void {
    const finished = contained(this, (exit: Exit.Exit<Exit.Exit<A, E>>) => {
      this.#fiber = undefined
      done(Exit.isSuccess(exit) ? exit.value : Exit.failCause(exit.cause))
    })
    const fiber = this.#serving.run(Effect.exit(effect))
    this.#fiber = fiber
    fiber.addObserver(finished)
  }

  #join(stream: Stream): void {
    const backend = socketOf(stream)
    if (this.socket.destroyed) {
      backend.destroy()
      return
    }
    const over = (broken: Broken | undefined) => {
      if (broken !== undefined) this.#failure ??= new BrokenOff(broken)
      this.#concluded()
    }
    this.#pump = new Pump(this.socket, backend, over, this.#serving.defect)
    const { idleTimeout } = this.#relay
    if (idleTimeout !== undefined) this.#watchIdle(this.#pump, idleTimeout)
    this.#pump.begin()
  }

  /** The client's side of it is closed; with a backend it is over when that one's is. */
  #closed(): void {
    this.#fiber?.interruptUnsafe()
    if (this.#pump !== undefined) return
    if (!this.#refused) this.#failure ??= new BrokenOff({ by: "client", code: undefined })
    this.#concluded()
  }

  #concluded(): void {
    clearTimeout(this.#looking)
    const { received = 0, sent = 0 } = this.#pump ?? {}
    try {
      this.#relay.over({ received, sent, failure: this.#failure }, this.#refused)
    } finally {
      this.#over()
    }
  }

  /** A callback threw. */
  contain(cause: unknown): void {
    this.cut()
    this.#serving.defect(cause)
  }

  readmitted(decision: Effect.Effect<boolean>, failure: string): void {
    endUnlessAdmitted(this, decision, failure)
  }

  get run(): Serving["run"] {
    return this.#serving.run
  }

  /** There is no way to tell its client. */
  retire(): void {}

  /** Nobody knows whether one of its sides has something to say. */
  finish(): void {}

  cutRequests(matches: (relay: Pick<Relay, "settings">) => boolean, failure: string): number {
    if (!matches(this.#relay)) return 0
    this.end(failure)
    return 1
  }

  /** Ends it; `why` is what is recorded. */
  end(why: string): void {
    this.#failure ??= new Ended({ why })
    this.#close()
  }

  /** Closes it at once. */
  cut(): void {
    this.end("the proxy has closed the connection")
  }

  #close(): void {
    if (this.#pump === undefined) reset(this.socket)
    else this.#pump.cut()
  }

  /** Tells what has passed. */
  sweep(): void {
    if (this.#pump !== undefined) this.#relay.moved(this.#pump.received, this.#pump.sent)
  }

  /** Ends it when nothing has moved for too long: looked at now and then, so that it costs nothing when bytes pass. */
  #watchIdle(pump: Pump, milliseconds: number): void {
    let { moved } = pump
    let still = 0
    const look = contained(this, () => {
      if (pump.moved !== moved) still = 0
      else if (++still === looks) {
        this.#failure ??= new StoodStill({ by: pump.silent })
        this.#close()
        return
      }
      moved = pump.moved
      this.#looking = setTimeout(look, Math.max(10, milliseconds / looks)).unref()
    })
    this.#looking = setTimeout(look, Math.max(10, milliseconds / looks)).unref()
  }
}

/** How often a connection is looked at in the time for which nothing may move on it. */
const looks = 4

const failureOf = (cause: Cause.Cause<StageError>, defect: (cause: unknown) => void): StageError => {
  const error = errorOf(cause)
  if (error !== undefined) return error
  if (Cause.hasInterruptsOnly(cause)) return new BrokenOff({ by: "client", code: undefined })
  const squashed = Cause.squash(cause)
  defect(squashed)
  return new Defect({ cause: squashed })
}
