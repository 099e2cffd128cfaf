/** Connections that bear no requests: each runs on the configuration that it began with, as requests do, and is recorded when it is over. */
import type { AssembledBind } from "../../compile/assemble.ts"
import type { Settings } from "../../pipeline/exchange.ts"
import { Relay, type RelayHooks } from "../../pipeline/relay.ts"
import { makeRelayRecorder } from "../../pipeline/relay-record.ts"
import type { Peer } from "../../pipeline/view.ts"
import type { Watchers } from "../../pipeline/watchers.ts"
import type { RecordLog } from "../../services/log.ts"
import type { Metrics } from "../../services/metrics.ts"
import type { Snapshot } from "../configuration/snapshot.ts"

/** Takes the connection of a client; `undefined`: it bears requests. */
export type Relaying = (peer: Peer) => Relay | undefined

/** @param newest the configuration in force, and what is told to whatever runs on it. */
export const makeRelaying = (
  log: RecordLog,
  metrics: Metrics["Service"],
  clock: () => number,
  watchers: Watchers,
  newest: () => readonly [Snapshot, Settings]
) => {
  const { began, moved, over } = makeRelayRecorder(log, metrics, clock)
  const watch = () => (watchers.waiting ? watchers.claimRelay() : undefined)

  const relay = ([snapshot, settings]: ReturnType<typeof newest>, { streamsFor }: AssembledBind, peer: Peer) => {
    const listener = streamsFor?.(peer.tls)
    if (listener === undefined) return undefined
    snapshot.inFlight++
    const hooks: RelayHooks = {
      clock,
      watch,
      moved,
      over: (relay, outcome) => {
        snapshot.inFlight--
        over(relay, outcome)
      }
    }
    const relay = new Relay(peer, listener, settings, snapshot.frontend.streamIdleTimeout, hooks)
    began(relay)
    return relay
  }

  /**
   * For a socket; `undefined` where all of its connections bear requests, whatever configuration comes.
   * @param opened what it was opened for, and `inForce` what it is there for now.
   */
  return (opened: AssembledBind, inForce: () => AssembledBind | undefined): Relaying | undefined =>
    opened.protocol === "http" ? undefined : (peer) => relay(newest(), inForce() ?? opened, peer)
}
