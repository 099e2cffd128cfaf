/**
 * What the access log and spans say of a request: its fields in their order, and a writer compiled from them, which joins
 * the fields of a log line and makes nothing else.
 */
import type { LineForm } from "../services/log.ts"
import { shownUri } from "./hidden.ts"
import type { Passage } from "./passage.ts"
import type { Outcome } from "./view.ts"

type Value = string | number | boolean
type Read = (p: Passage, outcome: Outcome, reason: string, elapsed: number) => Value | undefined
type Field = readonly [name: string, read: Read]

/** Fields that say which way a request took: the same text for every request on that way. */
const ofWay: ReadonlyArray<Field> = [
  ["gateway", (p) => p.listener?.gateway],
  ["listener", (p) => p.listener?.name],
  ["route_rule", (p) => p.route?.rule],
  ["route", (p) => (p.route === undefined ? undefined : `${p.route.namespace}/${p.route.name}`)],
  ["endpoint", (p) => (p.called === undefined ? undefined : p.target)]
]

const ofRequest: ReadonlyArray<Field> = [
  ["src.addr", (p) => `${p.exchange.peer.address}:${p.exchange.peer.port}`],
  ["http.method", (p) => p.exchange.receivedMethod],
  ["http.host", (p) => p.exchange.receivedAuthority],
  ["http.path", (p) => shownUri(p.exchange.receivedPath, p.exchange.settings.hidden)],
  ["http.version", (p) => `HTTP/${p.exchange.request.version}`],
  ["http.status", (_, outcome) => outcome.status],
  ["grpc.status", (p) => p.exchange.grpcStatus]
]

const ofBoth = [...ofWay, ...ofRequest]

/** Fields of the log alone, at the end of its line: behind those that protocols and policies add. */
const ofEnd: ReadonlyArray<Field> = [
  ["error", (p, outcome) => p.exchange.error?.message ?? outcome.failure],
  ["reason", (_x, _outcome, reason) => (reason === "Upstream" ? undefined : reason)],
  ["duration", (_x, _outcome, _reason, elapsed) => `${Math.round(elapsed)}ms`]
]

/** The fields that identify a request, by name. What protocols and policies add wins over a field of the same name. */
export const requestFacts = (p: Passage, outcome: Outcome): Record<string, Value> => {
  const facts: Record<string, Value> = {}
  for (const [name, read] of ofBoth) {
    const value = read(p, outcome, "", 0)
    if (value !== undefined) facts[name] = value
  }
  if (p.exchange.facts !== undefined) for (const [name, value] of p.exchange.facts) facts[name] = value
  return facts
}

const own = new Set([...ofBoth, ...ofEnd].map(([name]) => name))

const overrides = (facts: ReadonlyMap<string, Value>): boolean => {
  for (const name of facts.keys()) if (own.has(name)) return true
  return false
}

/** Names of added fields that are remembered: they stand in the source, unless a program around the proxy makes them up. */
const mostNames = 256

type Write = (value: Value) => string

/** The joined fields of a log line in that form. */
export const compileFields = (form: LineForm) => {
  const written = (fields: ReadonlyArray<Field>) => fields.map(([name, read]) => ({ read, write: form.field(name) }))
  const [first, middle, last] = [written(ofWay), written(ofRequest), written(ofEnd)]
  const join = (writers: typeof first, p: Passage, outcome: Outcome, reason: string, elapsed: number): string => {
    let out = ""
    for (const { read, write } of writers) {
      const value = read(p, outcome, reason, elapsed)
      if (value !== undefined) out += write(value)
    }
    return out
  }

  interface Way extends Pick<Passage, "listener" | "route" | "endpoint"> {
    readonly called: boolean
    readonly text: string
  }
  // By the innermost place: what a reload removed goes with it.
  const ways = new WeakMap<object, Way>()
  const nowhere = {}
  const wayOf = (p: Passage, outcome: Outcome): string => {
    const { listener, route, backend, endpoint } = p
    const called = p.called !== undefined
    const place = backend ?? route ?? listener ?? nowhere
    const known = ways.get(place)
    if (
      known !== undefined &&
      known.listener === listener &&
      known.route === route &&
      known.endpoint === endpoint &&
      known.called === called
    )
      return known.text
    const text = join(first, p, outcome, "", 0)
    ways.set(place, { listener, route, endpoint, called, text })
    return text
  }

  const names = new Map<string, Write>()
  const added = (facts: ReadonlyMap<string, Value>): string => {
    let out = ""
    for (const [name, value] of facts) {
      let write = names.get(name)
      if (write === undefined) {
        write = form.field(name)
        if (names.size < mostNames) names.set(name, write)
      }
      out += write(value)
    }
    return out
  }

  /** Each name once, in its first place. */
  const merged = (p: Passage, outcome: Outcome, reason: string, elapsed: number): string => {
    const values: Record<string, Value | undefined> = requestFacts(p, outcome)
    for (const [name, read] of ofEnd) values[name] = read(p, outcome, reason, elapsed)
    let out = ""
    for (const [name, value] of Object.entries(values)) if (value !== undefined) out += form.field(name)(value)
    return out
  }

  return (p: Passage, outcome: Outcome, reason: string, elapsed: number): string => {
    const { facts } = p.exchange
    if (facts !== undefined && overrides(facts)) return merged(p, outcome, reason, elapsed)
    const before = wayOf(p, outcome) + join(middle, p, outcome, reason, elapsed)
    const after = join(last, p, outcome, reason, elapsed)
    return facts === undefined ? before + after : before + added(facts) + after
  }
}
