/**
 * What is taken out of a file because it is wrong, so that in the same run everything that is wrong with the rest is told as
 * well, and nothing that only follows from what is missing now.
 */
import { type Path, parsePath } from "./path.ts"
import type { Complaint, Positions } from "./positions.ts"

/** One value that was taken out. Plain data: it crosses from one thread to another. */
export interface Gap {
  readonly path: Path
  /** What could be referred to by name: the steps of its path, and the keys and texts in it. */
  readonly words: ReadonlyArray<string>
  /** What is read in its place, where something has to be there. */
  readonly standIn?: string | number | ReadonlyArray<never> | Readonly<Record<never, never>>
}

const child = (value: unknown, step: string | number): unknown =>
  typeof value === "object" && value !== null && Object.hasOwn(value, step)
    ? (value as Readonly<Record<string | number, unknown>>)[step]
    : undefined

export const startsWith = (path: Path, start: Path): boolean =>
  start.length <= path.length && start.every((step, index) => step === path[index])

const wordsIn = (value: unknown, into: Set<string>): Set<string> => {
  if (typeof value !== "object" || value === null) return into.add(String(value))
  for (const [key, inner] of Object.entries(value)) wordsIn(inner, into.add(key))
  return into
}

/** The gap for a fault: at its place, or, where nothing is written there, at what should hold it. None is as large as the file. */
export const gapAt = (value: unknown, path: Path): Gap | undefined => {
  let depth = 0
  let at = value
  for (; depth < path.length; depth++) {
    const next = child(at, path[depth]!)
    if (next === undefined) break
    at = next
  }
  if (depth === 0) return undefined
  const own = path.slice(0, depth)
  return { path: own, words: [...wordsIn(at, new Set(own.map(String)))] }
}

/** The value without the gaps. What is not on the way to one is shared. */
export const without = (value: unknown, gaps: ReadonlyArray<Gap>): unknown => {
  const cut = (at: unknown, depth: number, inside: ReadonlyArray<Gap>): unknown => {
    if (typeof at !== "object" || at === null || inside.length === 0) return at
    const below = Map.groupBy(inside, ({ path }) => path[depth]!)
    const isList = Array.isArray(at)
    // What has a stand-in may not be written at all.
    const keys = isList ? [...at.keys()] : [...new Set([...Object.keys(at), ...[...below.keys()].map(String)])]
    const kept = keys.flatMap((key): ReadonlyArray<readonly [string | number, unknown]> => {
      const found = below.get(key) ?? []
      const whole = found.filter(({ path }) => path.length === depth + 1)
      const removed = whole.some(({ standIn }) => standIn === undefined)
      if (removed) return []
      return [[key, whole.length > 0 ? whole[0]!.standIn : cut(child(at, key), depth + 1, found)]]
    })
    return isList ? kept.map(([, inner]) => inner) : Object.fromEntries(kept)
  }
  return cut(value, 0, gaps)
}

/** Where something stands in the file that is at a path of what is left: items of a list move up when one is taken out. */
export const originOf = (path: Path, gaps: ReadonlyArray<Gap>): Path => {
  const found: Array<string | number> = []
  for (const step of path) {
    let at = step
    if (typeof at === "number") {
      const removed = gaps
        .filter((gap) => !("standIn" in gap) && gap.path.length === found.length + 1 && startsWith(gap.path, found))
        .map((gap) => Number(gap.path.at(-1)))
      for (const index of [...new Set(removed)].sort((a, b) => a - b)) if (index <= at) at++
    }
    found.push(at)
  }
  return found
}

/** The places of what is left, by its own paths. */
export const placesOfRest = (places: Positions, gaps: ReadonlyArray<Gap>): Positions => {
  if (gaps.length === 0) return places
  const moved = (path: Path | string) => originOf(typeof path === "string" ? parsePath(path) : path, gaps)
  return {
    ...places,
    at: (path) => places.at(moved(path)),
    keyAt: (path) => places.keyAt(moved(path)),
    has: (path) => places.has(moved(path)),
    show: (path) => places.show(moved(path)),
    locate: (complaint) => places.locate({ ...complaint, path: moved(complaint.path) })
  }
}

/**
 * Whether a complaint about what is left may follow from what was taken out: it is about something that holds a gap, or about
 * a name that a gap may have given.
 */
export const followsFrom = (gaps: ReadonlyArray<Gap>, { path, code, missing }: Complaint): boolean => {
  const place = originOf(typeof path === "string" ? parsePath(path) : path, gaps)
  // What this build does not have is written there, whatever else is.
  const near = code === "unavailable" ? 1 : Number.POSITIVE_INFINITY
  return gaps.some(
    (gap) =>
      startsWith(place, gap.path) ||
      (startsWith(gap.path, place) && gap.path.length - place.length <= near) ||
      (missing !== undefined && (startsWith(missing.among, gap.path) || gap.words.some(missing.isName)))
  )
}

/** Whether what a second reading says follows from what the first one took out; `choice` is where it chose among alternatives. */
export const isConsequence = (gaps: ReadonlyArray<Gap>, path: Path, choice: Path | undefined): boolean => {
  const place = originOf(path, gaps)
  const chosen = choice && originOf(choice, gaps)
  return gaps.some(
    (gap) =>
      startsWith(place, gap.path) ||
      (startsWith(gap.path, place) && gap.path.length <= place.length + 1) ||
      (chosen !== undefined && startsWith(gap.path, chosen))
  )
}
