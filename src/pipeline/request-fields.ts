/**
 * What the access log and spans say of a request: its fields in their order, and a writer compiled from them, which joins
 * the fields of a log line and makes nothing else.
 */
import type { LineForm } from "../services/log.ts"
import type { Exchange } from "./exchange.ts"
import { shownUri } from "./hidden.ts"
import type { Outcome } from "./view.ts"

type Value = string | number | boolean
type Read = (x: Exchange, outcome: Outcome, reason: string, elapsed: number) => Value | undefined
type Field = readonly [name: string, read: Read]

/** They say which way a request took, so they are the same for all that took it. */
const ofWay: ReadonlyArray<Field> = [
  ["gateway", (x) => x.listener?.gateway],
  ["listener", (x) => x.listener?.name],
  ["route_rule", (x) => x.route?.rule],
  ["route", (x) => (x.route === undefined ? undefined : `${x.route.namespace}/${x.route.name}`)],
  ["endpoint", (x) => (x.called === undefined ? undefined : x.backend?.target)]
]

const ofRequest: ReadonlyArray<Field> = [
  ["src.addr", (x) => `${x.peer.address}:${x.peer.port}`],
  ["http.method", (x) => x.request.method],
  ["http.host", (x) => x.receivedAuthority],
  ["http.path", (x) => shownUri(x.receivedPath, x.hidden)],
  ["http.version", (x) => `HTTP/${x.request.version}`],
  ["http.status", (_, outcome) => outcome.status]
]

const ofBoth = [...ofWay, ...ofRequest]

/** They stand in the log alone, behind what protocols and policies add. */
const ofEnd: ReadonlyArray<Field> = [
  ["error", (x, outcome) => x.error?.message ?? outcome.failure],
  ["reason", (_x, _outcome, reason) => (reason === "Upstream" ? undefined : reason)],
  ["duration", (_x, _outcome, _reason, elapsed) => `${Math.round(elapsed)}ms`]
]

/** The fields that identify a request, by name. What protocols and policies add wins over a field of the same name. */
export const requestFacts = (x: Exchange, outcome: Outcome): Record<string, Value> => {
  const facts: Record<string, Value> = {}
  for (const [name, read] of ofBoth) {
    const value = read(x, outcome, "", 0)
    if (value !== undefined) facts[name] = value
  }
  if (x.facts !== undefined) for (const [name, value] of x.facts) facts[name] = value
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
  const join = (writers: typeof first, x: Exchange, outcome: Outcome, reason: string, elapsed: number): string => {
    let out = ""
    for (const { read, write } of writers) {
      const value = read(x, outcome, reason, elapsed)
      if (value !== undefined) out += write(value)
    }
    return out
  }

  interface Way extends Pick<Exchange, "listener" | "route"> {
    readonly called: boolean
    readonly text: string
  }
  // By the innermost place: what a reload removed goes with it.
  const ways = new WeakMap<object, Way>()
  const nowhere = {}
  const wayOf = (x: Exchange, outcome: Outcome): string => {
    const { listener, route, backend } = x
    const called = x.called !== undefined
    const place = backend ?? route ?? listener ?? nowhere
    const known = ways.get(place)
    if (known !== undefined && known.listener === listener && known.route === route && known.called === called)
      return known.text
    const text = join(first, x, outcome, "", 0)
    ways.set(place, { listener, route, called, text })
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
  const merged = (x: Exchange, outcome: Outcome, reason: string, elapsed: number): string => {
    const values: Record<string, Value | undefined> = requestFacts(x, outcome)
    for (const [name, read] of ofEnd) values[name] = read(x, outcome, reason, elapsed)
    let out = ""
    for (const [name, value] of Object.entries(values)) if (value !== undefined) out += form.field(name)(value)
    return out
  }

  return (x: Exchange, outcome: Outcome, reason: string, elapsed: number): string => {
    const { facts } = x
    if (facts !== undefined && overrides(facts)) return merged(x, outcome, reason, elapsed)
    const before = wayOf(x, outcome) + join(middle, x, outcome, reason, elapsed)
    const after = join(last, x, outcome, reason, elapsed)
    return facts === undefined ? before + after : before + added(facts) + after
  }
}
