/** What a port does for whoever connects: which listener a request is for, and with TLS what clients meet before HTTP. */
import { Misdirected, NotFound } from "../pipeline/errors.ts"
import type { Listener } from "../pipeline/route.ts"
import type { StageError } from "../pipeline/stage.ts"
import type { PeerTls } from "../pipeline/view.ts"
import type { Listeners } from "../routing/listeners.ts"
import type { PortTls } from "../services/listener-tls.ts"
import type { FollowedListenerTls } from "./listener-tls.ts"

/** A listener, with TLS where it has some that can be used. */
export interface Served {
  readonly listener: Listener
  readonly tls: FollowedListenerTls | undefined
}

/** Whose request it is: by the host of its authority and, with TLS, by the server name of its connection. Or why it is nobody's. */
export type ListenerFor = (host: string, tls: PeerTls | undefined) => Listener | StageError

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
  (host, tls) => {
    const own = listeners.forServerName(tls?.serverName)
    if (own === undefined) return misdirected
    const mismatch = listeners.mismatch(own, host)
    return mismatch === undefined ? own.listener : mismatch === "misdirected" ? misdirected : notFound.route
  }

export const bindTls = (
  listeners: Listeners<Served>,
  all: ReadonlyArray<{ readonly value: Served }>,
  handshakeTimeout: number
): BindTls => ({
  handshakeTimeout,
  forServerName: (name) => listeners.forServerName(name)?.tls?.current,
  whenReplaced: (replaced) => {
    for (const { value } of all) value.tls?.whenReplaced(replaced)
  }
})
