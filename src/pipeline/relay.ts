/**
 * A connection that is passed on as it is: what configuration compiles to for those of TCP and TLS listeners, and one of them on
 * its way. No request is read of it, so the policies of connections decide, a route is chosen by its server name, and an endpoint
 * is connected to. Who moves the bytes is a layer.
 */
import { Effect, Exit } from "effect"
import type { EndpointState } from "../../spec/live-endpoints.ts"
import type { Stream, Streams } from "../services/upstreams.ts"
import type { Admission } from "./contact.ts"
import { NotFound } from "./errors.ts"
import type { Settings } from "./exchange.ts"
import type { Backend, EffectivePolicies } from "./route.ts"
import type { StageError } from "./stage.ts"
import type { Peer } from "./view.ts"

/** A listener whose connections are passed on. */
export interface StreamListener {
  /** As `gateway/default`. */
  readonly key: string
  readonly name: string
  /** As `bind/3306`. */
  readonly bind: string
  readonly gateway: string
  /** What its clients speak as far as it is known here. */
  readonly protocol: "tcp" | "tls"
  readonly admission: Admission | undefined
  /** By the server name that the client has asked for, where it speaks TLS. */
  readonly select: (serverName: string | undefined) => StreamRoute | undefined
  /** The keys of its routes. */
  readonly routes: ReadonlyArray<string>
}

/** A route of connections. */
export interface StreamRoute {
  readonly key: string
  readonly name: string
  readonly namespace: string
  readonly rule: string | undefined
  readonly mayLeadNowhere: boolean
  /** Chooses a backend by weight. */
  readonly choose: () => StreamBackend | StageError
}

/** One of the endpoints of a backend, for one connection. */
export interface StreamEndpoint {
  /** As `10.0.0.1:3306`. */
  readonly target: string
  readonly streams: Streams
  /** Told when the connection to it stands. */
  readonly connected: () => void
  /** Told when it could not be made. */
  readonly failed: () => void
  /** Told when the connection is over, however it ended. Told once. */
  readonly over: () => void
}

/** What a terminal says of the connections that are passed on to its backend. */
export interface CompiledStreams extends Pick<Backend, "type" | "target"> {
  readonly endpoints?: (() => ReadonlyArray<EndpointState>) | undefined
  /** For one connection: the endpoint to try, and when that fails the next one, until there is none. */
  readonly attempts: () => () => StreamEndpoint | undefined
  /** Follows the list of its endpoints, where that is another one by now. */
  readonly following?: (() => Effect.Effect<void> | undefined) | undefined
}

/** A backend to which connections are passed on. */
export interface StreamBackend extends CompiledStreams, Pick<Backend, "name" | "connections"> {
  readonly effective: EffectivePolicies
}

/** Nobody of a backend can be called. */
export const noneHealthy: StageError = {
  _tag: "NoHealthyBackend",
  status: 503,
  message: "no healthy backends",
  source: "backend",
  reached: "nothing sent"
}

/** How a connection ended. */
export interface RelayOutcome {
  /** Bytes of the client. */
  readonly received: number
  /** Bytes that it was sent. */
  readonly sent: number
  /** Why, if it was not ended by both sides. */
  readonly failure: StageError | undefined
}

/** Told how a connection fares. Nothing it does may hold the connection up. */
export interface RelayWatch {
  readonly relayStarted: (relay: Relay) => void
  readonly relaySelected: (relay: Relay) => void
  readonly relayCalling: (relay: Relay) => void
  readonly relayCalled: (relay: Relay, failed: StageError | undefined) => void
  readonly relayFinished: (relay: Relay, outcome: RelayOutcome) => void
}

/** What happens to all connections that are passed on. */
export interface RelayHooks {
  readonly clock: () => number
  /** Whoever waits for one to watch. */
  readonly watch: () => RelayWatch | undefined
  /** Told of more bytes now and then, and of the last ones before it is over. */
  readonly moved: (relay: Relay, received: number, sent: number) => void
  /** @param outcome absent where policies of connections did not let it in, which is told elsewhere. */
  readonly over: (relay: Relay, outcome: RelayOutcome | undefined) => void
}

const noRoute = new NotFound({ what: "route" })

/** One connection. */
export class Relay {
  readonly peer: Peer
  readonly listener: StreamListener
  readonly settings: Settings
  readonly arrived: number
  route: StreamRoute | undefined = undefined
  backend: StreamBackend | undefined = undefined
  /** The endpoint that it was passed on to, or that was tried last. */
  endpoint: StreamEndpoint | undefined = undefined
  /** When that was called. */
  called: number | undefined = undefined
  readonly #idleTimeout: number | undefined
  readonly #hooks: RelayHooks
  #watch: RelayWatch | undefined = undefined
  #received = 0
  #sent = 0
  #isOver = false

  constructor(
    peer: Peer,
    listener: StreamListener,
    settings: Settings,
    idleTimeout: number | undefined,
    hooks: RelayHooks
  ) {
    this.peer = peer
    this.listener = listener
    this.settings = settings
    this.#idleTimeout = idleTimeout
    this.#hooks = hooks
    this.arrived = hooks.clock()
  }

  /** Finds somebody to pass it on to, once it was let in. */
  readonly connect: Effect.Effect<Stream, StageError> = Effect.suspend((): Effect.Effect<Stream, StageError> => {
    this.#watch = this.#hooks.watch()
    this.#watch?.relayStarted(this)
    this.route = this.listener.select(this.peer.tls?.serverName)
    this.#watch?.relaySelected(this)
    if (this.route === undefined) return Exit.fail(noRoute)
    const backend = this.route.choose()
    if ("_tag" in backend) return Exit.fail(backend)
    this.backend = backend
    const attempt = Effect.suspend(() => this.#attempt(backend.attempts(), noneHealthy))
    const following = backend.following?.()
    return following === undefined ? attempt : Effect.andThen(following, attempt)
  })

  #attempt(next: () => StreamEndpoint | undefined, failure: StageError): Effect.Effect<Stream, StageError> {
    const endpoint = next()
    if (endpoint === undefined) return Exit.fail(failure)
    this.endpoint?.over()
    this.endpoint = endpoint
    this.called = this.#hooks.clock()
    this.#watch?.relayCalling(this)
    return Effect.matchEffect(endpoint.streams.connect, {
      onSuccess: (stream) => {
        endpoint.connected()
        this.#watch?.relayCalled(this, undefined)
        return Exit.succeed(stream)
      },
      onFailure: (error) => {
        endpoint.failed()
        this.#watch?.relayCalled(this, error)
        return this.#attempt(next, error)
      }
    })
  }

  /** Milliseconds for which nothing may move on it, by what holds for its client and for its endpoint; `undefined`: any time. */
  get idleTimeout(): number | undefined {
    const least = Math.min(this.#idleTimeout ?? Infinity, this.endpoint?.streams.idleTimeout ?? Infinity)
    return least === Infinity ? undefined : least
  }

  /** How many bytes have passed so far. */
  moved(received: number, sent: number): void {
    this.#hooks.moved(this, received - this.#received, sent - this.#sent)
    this.#received = received
    this.#sent = sent
  }

  /** It has ended. Further calls do nothing. @param refused policies of connections did not let it in, which is told elsewhere. */
  over(outcome: RelayOutcome, refused: boolean): void {
    if (this.#isOver) return
    this.#isOver = true
    this.endpoint?.over()
    this.moved(outcome.received, outcome.sent)
    this.#watch?.relayFinished(this, outcome)
    this.#hooks.over(this, refused ? undefined : outcome)
  }
}
