/** What a port does for whoever connects: which listener a request is for, and with TLS what clients meet before HTTP. */
import { Misdirected, NotFound } from "../pipeline/errors.ts"
import type { StreamListener } from "../pipeline/relay.ts"
import type { Listener } from "../pipeline/route.ts"
import type { StageError } from "../pipeline/stage.ts"
import type { PeerTls } from "../pipeline/view.ts"
import type { Listeners } from "../routing/listeners.ts"
import type { PortTls } from "../services/listener-tls.ts"
import type { FollowedListenerTls } from "./listener-tls.ts"

/** A listener, of requests or of connections that are passed on, with TLS where it has some that can be used. */
export interface Served {
  readonly listener?: Listener | undefined
  readonly streams?: StreamListener | undefined
  readonly tls: FollowedListenerTls | undefined
  /** Its TLS is between the client and the backend. */
  readonly passesThrough?: boolean | undefined
}

/** Whose connection it is that is passed on; `undefined`: it bears requests, or is nobody's. */
export type StreamsFor = (tls: PeerTls | undefined) => StreamListener | undefined

/** Whose request it is: by the host of its authority and, with TLS, by the server name of its connection. Or why it is nobody's. */
export type ListenerFor = (host: string, tls: PeerTls | undefined, isTunnel?: boolean) => Listener | StageError

/** TLS of a port. */
export interface BindTls extends PortTls {
  /** Told when what it shows or asks for was replaced, though the configuration is the same. */
  readonly whenReplaced: (replaced: () => void) => void
}

const notFound = { listener: new NotFound({ what: "listener" }), route: new NotFound({ what: "route" }) }
const misdirected = new Misdirected()

export const byHost =
  (listeners: Listeners<Served>): ListenerFor =>
  (host) =>
    listeners.forHost(host)?.listener ?? notFound.listener

/** A client that was let in to one listener is served by no other: that one may ask for more of it. */
export const byServerName =
  (listeners: Listeners<Served>): ListenerFor =>
  (host, tls, isTunnel) => {
    const own = listeners.forServerName(tls?.serverName)
    if (own === undefined) return misdirected
    // A tunnel names whom it leads to, not whom it is asked of.
    const mismatch = isTunnel === true ? undefined : listeners.mismatch(own, host)
    if (mismatch !== undefined) return mismatch === "misdirected" ? misdirected : notFound.route
    return own.listener ?? misdirected
  }

export const streamsByServerName =
  (listeners: Listeners<Served>): StreamsFor =>
  (tls) =>
    listeners.forServerName(tls?.serverName)?.streams

export const bindTls = (
  listeners: Listeners<Served>,
  all: ReadonlyArray<{ readonly value: Served }>,
  handshakeTimeout: number
): BindTls => ({
  handshakeTimeout,
  forServerName: (name) => {
    const served = listeners.forServerName(name)
    return served?.passesThrough === true ? "passed through" : served?.tls?.current
  },
  whenReplaced: (replaced) => {
    for (const { value } of all) value.tls?.whenReplaced(replaced)
  }
})
