/** What changed from one configuration to another, part by part, with the places in both files. Credentials are compared, not shown. */
import { formatPath, type Path } from "../../../spec/config/path.ts"
import type { Positions } from "../../../spec/config/positions.ts"
import type { Hidden } from "../../pipeline/hidden.ts"
import { masked } from "../../pipeline/masked.ts"
import { revealed } from "../../pipeline/revealed.ts"
import type { Normalised } from "../../routing/normalised.ts"
import { type Part, type PartKind, partsOf } from "./parts.ts"

/** One side of the comparison. */
export interface Side {
  readonly config: Normalised
  readonly positions: Positions
  readonly hidden: Hidden
}

interface Place {
  readonly file: string
  readonly line: number
  readonly column: number
  /** The value in the file. */
  readonly path: string
}

/** A value that is not what it was; absent on the side that does not have it. */
export interface FieldChange {
  readonly path: string
  readonly old?: unknown
  readonly new?: unknown
}

export interface Difference {
  readonly change: "added" | "removed" | "changed"
  readonly kind: PartKind
  /** `<key of the part>`, or `<key of the part> <policy>` for a policy that is written on it. */
  readonly key: string
  readonly old?: Place
  readonly new?: Place
  /** What of it changed. */
  readonly fields?: ReadonlyArray<FieldChange>
}

/** All differences, in the order of the newer file; what was removed comes last. */
export const differences = (older: Side, newer: Side): ReadonlyArray<Difference> => {
  const pairs = paired(partsOf(older.config), partsOf(newer.config))
  const found = pairs.flatMap(([old, now]) => {
    if (old === undefined) return [added(now!.kind, now!.key, place(newer, now!.path))]
    if (now === undefined) return [removed(old.kind, old.key, place(older, old.path))]
    return ofPart(older, newer, old, now)
  })
  // What is on several listeners is written once.
  const told = new Map<string, Difference>()
  for (const each of found) {
    const { key: _, ...rest } = each
    const identity = JSON.stringify(rest)
    if (!told.has(identity)) told.set(identity, each)
  }
  return [...told.values()]
}

const place = ({ positions }: Side, path: Path): Place => ({
  file: positions.file,
  ...positions.at(path),
  path: positions.show(path)
})

const added = (kind: PartKind, key: string, at: Place): Difference => ({ change: "added", kind, key, new: at })
const removed = (kind: PartKind, key: string, at: Place): Difference => ({ change: "removed", kind, key, old: at })

/** Parts belong together by kind and key; those that have but a number, first by what they are. */
const paired = (
  older: ReadonlyArray<Part>,
  newer: ReadonlyArray<Part>
): ReadonlyArray<readonly [Part | undefined, Part | undefined]> => {
  const partners = new Map<Part, Part>()
  const taken = new Set<Part>()
  const pair = (identity: (part: Part) => string, eligible: (part: Part) => boolean) => {
    const free = Map.groupBy(
      older.filter((part) => eligible(part) && !taken.has(part)),
      identity
    )
    for (const part of newer) {
      if (!eligible(part) || partners.has(part)) continue
      const partner = free.get(identity(part))?.shift()
      if (partner === undefined) continue
      partners.set(part, partner)
      taken.add(partner)
    }
  }
  const owner = ({ key }: Part) => key.slice(0, key.lastIndexOf("/"))
  pair(
    (part) => `${part.kind} ${owner(part)} ${JSON.stringify(revealed([part.value, part.policies.map(bareOf)]))}`,
    ({ numbered }) => numbered
  )
  pair(
    ({ kind, key }) => `${kind} ${key}`,
    () => true
  )
  return [
    ...newer.map((part) => [partners.get(part), part] as const),
    ...older.filter((part) => !taken.has(part)).map((part) => [part, undefined] as const)
  ]
}

const bareOf = ({ name, value }: Part["policies"][number]) => [name, value]

const ofPart = (older: Side, newer: Side, old: Part, now: Part): ReadonlyArray<Difference> => {
  const compared = (a: unknown, b: unknown) =>
    compare(revealed(a, older.hidden), revealed(b, newer.hidden), masked(a, older.hidden), masked(b, newer.hidden), [])
  const changed = (key: string, from: Path, to: Path, fields: ReadonlyArray<FieldChange>): ReadonlyArray<Difference> =>
    fields.length === 0
      ? []
      : [{ change: "changed", kind: now.kind, key, old: place(older, from), new: place(newer, to), fields }]
  const own = changed(now.key, old.path, now.path, compared(old.value, now.value))
  const before = new Map(old.policies.map((policy) => [policy.name, policy]))
  const policies = now.policies.flatMap((policy): ReadonlyArray<Difference> => {
    const key = `${now.key} ${policy.name}`
    const was = before.get(policy.name)
    before.delete(policy.name)
    if (was === undefined) return [added("policy", key, place(newer, policy.path))]
    return changed(key, was.path, policy.path, compared(was.value, policy.value)).map((each) => ({
      ...each,
      kind: "policy" as const
    }))
  })
  const gone = [...before.values()].map(({ name, path }) => removed("policy", `${old.key} ${name}`, place(older, path)))
  return [...own, ...policies, ...gone]
}

type Fields = Readonly<Record<string, unknown>>

const isRecord = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const same = (a: unknown, b: unknown): boolean => {
  if (Array.isArray(a)) return Array.isArray(b) && a.length === b.length && a.every((each, i) => same(each, b[i]))
  if (!isRecord(a) || !isRecord(b)) return Object.is(a, b)
  const keys = Object.keys(a)
  return keys.length === Object.keys(b).length && keys.every((key) => Object.hasOwn(b, key) && same(a[key], b[key]))
}

/** The innermost values that differ. Lists of named things are compared by name, others number by number. */
const compare = (a: unknown, b: unknown, shownA: unknown, shownB: unknown, path: Path): ReadonlyArray<FieldChange> => {
  if (same(a, b)) return []
  const fieldsOfA = fieldsOf(a, shownA)
  const fieldsOfB = fieldsOf(b, shownB)
  if (fieldsOfA === undefined || fieldsOfB === undefined || Array.isArray(a) !== Array.isArray(b))
    return [{ path: formatPath(path), old: shownA, new: shownB }]
  const keys = new Set([...fieldsOfB.keys(), ...fieldsOfA.keys()])
  const found = [...keys].flatMap((key): ReadonlyArray<FieldChange> => {
    const old = fieldsOfA.get(key)
    const now = fieldsOfB.get(key)
    const at = formatPath([...path, key])
    if (old === undefined) return [{ path: at, new: now?.shown }]
    if (now === undefined) return [{ path: at, old: old.shown }]
    return compare(old.value, now.value, old.shown, now.shown, [...path, key])
  })
  // Named things in another order.
  return found.length > 0 ? found : [{ path: formatPath(path), old: shownA, new: shownB }]
}

interface Field {
  readonly value: unknown
  readonly shown: unknown
}

/** The parts of a value; `undefined` for one that is shown whole, as a credential is. */
const fieldsOf = (value: unknown, shown: unknown): ReadonlyMap<string | number, Field> | undefined => {
  if (Array.isArray(value) && Array.isArray(shown)) {
    const names = value.map((each) => (isRecord(each) && typeof each["name"] === "string" ? each["name"] : undefined))
    const named = !names.includes(undefined) && new Set(names).size === names.length
    return new Map(
      value.map((each, index) => [named ? names[index]! : index, { value: each, shown: shown[index] }] as const)
    )
  }
  if (!isRecord(value) || !isRecord(shown)) return undefined
  return new Map(Object.entries(value).map(([key, each]) => [key, { value: each, shown: shown[key] }]))
}
