/** What remains of a connection that was passed on: one line of the access log, and its counts. Series are resolved once for each listener. */
import type { LineForm, RecordLog } from "../services/log.ts"
import type { Metrics, Series } from "../services/metrics.ts"
import { reasonOf } from "./record.ts"
import type { Relay, RelayOutcome, StreamListener } from "./relay.ts"

const labels = ["bind", "gateway", "listener", "protocol"]

interface Counted {
  readonly connections: Series
  readonly received: Series
  readonly sent: Series
  readonly open: Series
  standing: number
}

export const makeRelayRecorder = (log: RecordLog, metrics: Metrics["Service"], clock: () => number) => {
  const connections = metrics.counter(
    "downstream_connections_total",
    "Connections of clients that were passed on as they are: those of TCP and TLS listeners.",
    labels
  )
  const received = metrics.counter("downstream_received_bytes_total", "Bytes that their clients have sent.", labels)
  const sent = metrics.counter("downstream_sent_bytes_total", "Bytes that their clients were sent.", labels)
  const open = metrics.gauge("downstream_connections", "Those of them that are open.", labels)
  // Another configuration has other listeners, and their connections are counted together.
  const known = new Map<string, Counted>()
  const countedFor = ({ bind, gateway, name, protocol }: StreamListener): Counted => {
    const values = [bind, gateway, name, protocol]
    const key = values.join(" ")
    let counted = known.get(key)
    if (counted === undefined) {
      counted = {
        connections: connections.series(values),
        received: received.series(values),
        sent: sent.series(values),
        open: open.series(values),
        standing: 0
      }
      known.set(key, counted)
    }
    return counted
  }

  const logged = (relay: Relay, outcome: RelayOutcome): void => {
    const form = log.form()
    let line = ""
    for (const [name, value] of fieldsOf(relay, outcome, clock() - relay.arrived))
      if (value !== undefined) line += writer(form, name)(value)
    log.record("request", line)
  }

  return {
    began: ({ listener }: Relay): void => {
      const counted = countedFor(listener)
      counted.connections.record(1)
      counted.open.record(++counted.standing)
    },
    moved: ({ listener }: Relay, received: number, sent: number): void => {
      const counted = countedFor(listener)
      if (received > 0) counted.received.record(received)
      if (sent > 0) counted.sent.record(sent)
    },
    over: (relay: Relay, outcome: RelayOutcome | undefined): void => {
      const counted = countedFor(relay.listener)
      counted.open.record(--counted.standing)
      if (outcome !== undefined && log.enabled("info", "request")) logged(relay, outcome)
    }
  }
}

type Field = readonly [name: string, value: string | number | undefined]

const fieldsOf = (
  { listener, route, endpoint, peer }: Relay,
  { received, sent, failure }: RelayOutcome,
  elapsed: number
): ReadonlyArray<Field> => {
  const certificate = peer.tls?.clientCertificate
  return [
    ["gateway", listener.gateway],
    ["listener", listener.name],
    ["route_rule", route?.rule],
    ["route", route === undefined ? undefined : `${route.namespace}/${route.name}`],
    ["endpoint", endpoint?.target],
    ["src.addr", `${peer.address}:${peer.port}`],
    ["src.identity", certificate?.spiffeId ?? certificate?.subject],
    ["tls.sni", peer.tls?.serverName],
    ["tunnel", peer.tunnel?.to],
    ["protocol", listener.protocol],
    ["tcp.received_bytes", received],
    ["tcp.sent_bytes", sent],
    ["error", failure?.message],
    ["reason", failure && reasonOf(failure)],
    ["duration", `${Math.round(elapsed)}ms`]
  ]
}

/** By the form of the lines, which seldom changes. */
const writers = new WeakMap<LineForm, Map<string, ReturnType<LineForm["field"]>>>()

const writer = (form: LineForm, name: string): ReturnType<LineForm["field"]> => {
  let named = writers.get(form)
  if (named === undefined) {
    named = new Map()
    writers.set(form, named)
  }
  let write = named.get(name)
  if (write === undefined) {
    write = form.field(name)
    named.set(name, write)
  }
  return write
}
