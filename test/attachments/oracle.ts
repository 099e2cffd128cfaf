/**
 * Which policies hold for a request, said again in the words of the documentation: each phase looks at its places one
 * after the other. It knows nothing of levels, and reads the configuration as it is written.
 */

/** A policy by the mark that its configuration carries; one of each kind in each place at most. */
export type Marks = Readonly<Record<string, string>>

export interface TargetedMark {
  readonly key: string
  readonly target:
    | { readonly kind: "gateway"; readonly port?: number; readonly listener?: string; readonly entry?: string }
    | { readonly kind: "route"; readonly name: string; readonly rule?: string }
    | { readonly kind: "backend"; readonly name: string }
  readonly phase: "gateway" | "route"
  readonly policy: string
  readonly mark: string
}

export interface Place {
  readonly port: number
  readonly listener: { readonly name: string; readonly policies: Marks }
  /** The parent first. */
  readonly chain: ReadonlyArray<{ readonly name: string; readonly rule: string | undefined; readonly policies: Marks }>
  readonly backend: { readonly name: string | undefined; readonly policies: Marks }
  readonly reference: Marks
}

/** Of each kind the marks in force: one, or for what adds up all of them, sorted. */
export type InForce = Readonly<Record<string, ReadonlyArray<string>>>

const addsUp = new Set(["authorization", "mcpAuthorization"])
/** On a route they are policies of its backends. */
const ofBackends = new Set(["mcpAuthorization", "backendTLS", "sessionAffinity"])

/** Reads places from the most specific one on; the first that has a policy has the say. */
const firstWins = (places: ReadonlyArray<Marks>): InForce => {
  const found: Record<string, Array<string>> = {}
  for (const place of places)
    for (const [kind, mark] of Object.entries(place)) {
      const before = found[kind]
      if (before === undefined) found[kind] = [mark]
      else if (addsUp.has(kind)) before.push(mark)
    }
  return Object.fromEntries(Object.entries(found).map(([kind, marks]) => [kind, marks.sort()]))
}

/** Those with one target, one place each: of two of a kind the smaller key comes first. */
const placesOf = (targeted: ReadonlyArray<TargetedMark>): ReadonlyArray<Marks> =>
  [...targeted].sort((a, b) => (a.key < b.key ? -1 : 1)).map(({ policy, mark }) => ({ [policy]: mark }))

const pick = (marks: Marks, wanted: (kind: string) => boolean): Marks =>
  Object.fromEntries(Object.entries(marks).filter(([kind]) => wanted(kind)))

export const inForce = (targeted: ReadonlyArray<TargetedMark>, place: Place) => {
  const { port, listener, chain, backend, reference } = place
  const where = (wanted: (policy: TargetedMark) => boolean) => placesOf(targeted.filter(wanted))
  const gateway = (of: (policy: TargetedMark) => boolean) => [
    ...where((each) => of(each) && each.target.kind === "gateway" && each.target.listener === listener.name),
    ...where((each) => of(each) && each.target.kind === "gateway" && each.target.port === port),
    ...where(
      (each) =>
        of(each) &&
        each.target.kind === "gateway" &&
        each.target.listener === undefined &&
        each.target.port === undefined
    )
  ]
  const early = ({ phase }: TargetedMark) => phase === "gateway"
  const onRoute = ({ phase, policy }: TargetedMark) => phase === "route" && !ofBackends.has(policy)
  const onBackend = ({ phase, policy }: TargetedMark) => phase === "route" && ofBackends.has(policy)
  const targetedAt = (hop: Place["chain"][number], of: (policy: TargetedMark) => boolean) => {
    const named = ({ target }: TargetedMark) => target.kind === "route" && target.name === hop.name
    const ruleOf = ({ target }: TargetedMark) => (target.kind === "route" ? target.rule : undefined)
    return [
      ...where((each) => of(each) && named(each) && ruleOf(each) !== undefined && ruleOf(each) === hop.rule),
      ...where((each) => of(each) && named(each) && ruleOf(each) === undefined)
    ]
  }
  const childFirst = chain.toReversed()
  return {
    gateway: firstWins([listener.policies, ...gateway(early)]),
    route: firstWins([
      ...childFirst.flatMap((hop) => [
        pick(hop.policies, (kind) => !ofBackends.has(kind)),
        ...targetedAt(hop, onRoute)
      ]),
      ...gateway(onRoute)
    ]),
    backend: firstWins([
      reference,
      ...childFirst.map((hop) => pick(hop.policies, (kind) => ofBackends.has(kind))),
      backend.policies,
      ...childFirst.flatMap((hop) => targetedAt(hop, onBackend)),
      ...where(({ target }) => target.kind === "backend" && target.name === backend.name),
      ...gateway(onBackend)
    ])
  }
}
