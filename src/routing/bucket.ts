/**
 * The matches of all routes of one hostname, arranged so that a look-up sees only those whose path can match: a hash for
 * exact paths, a trie over path segments for prefixes and for the literal beginning of regular expressions.
 */
import type { RequestHead } from "../http/message.ts"
import type { CompiledMatch, PathCondition } from "./match.ts"

/** A match of a route, with its place in the order in which matches are tried. Flat: a look-up mostly waits for memory. */
export interface Candidate<A> extends CompiledMatch {
  readonly ordinal: number
  /** What a look-up that ends here returns. */
  readonly found: A
}

type Candidates<A> = ReadonlyArray<Candidate<A>>

/** What a look-up needs to remember. A table has one and uses it again and again, so that looking up allocates nothing. */
export class Lookup<A> {
  /** The candidates on the way through the trie, and how many of each have been tried. */
  readonly lists: Array<Candidates<A>> = []
  readonly tried: Array<number> = []
  /** Candidates tried so far. */
  visited = 0
  #query: ReadonlyMap<string, string> | undefined = undefined

  begin(): void {
    this.visited = 0
    this.#query = undefined
  }

  /** The form-decoded query; of several values of a name the last one. */
  query(request: RequestHead): ReadonlyMap<string, string> {
    this.#query ??= new Map(new URLSearchParams(request.query))
    return this.#query
  }
}

class Segment<A> {
  readonly candidates: Array<Candidate<A>> = []
  #children: Map<string, Segment<A>> | undefined = undefined

  get isLeaf(): boolean {
    return this.#children === undefined
  }

  child(name: string): Segment<A> | undefined {
    return this.#children?.get(name)
  }

  /** The node that the segments lead to, made where missing. */
  reach(segments: ReadonlyArray<string>): Segment<A> {
    let node: Segment<A> = this
    for (const name of segments) {
      node.#children ??= new Map()
      let next = node.#children.get(name)
      if (next === undefined) {
        next = new Segment<A>()
        node.#children.set(name, next)
      }
      node = next
    }
    return node
  }
}

export class Bucket<A> {
  readonly #exact = new Map<string, Array<Candidate<A>>>()
  readonly #root = new Segment<A>()

  /** Adds a candidate. They come in the order of their ordinals, which keeps every list sorted. */
  add(candidate: Candidate<A>): void {
    const { path } = candidate
    if (path._tag === "Exact") {
      const known = this.#exact.get(path.path)
      if (known === undefined) this.#exact.set(path.path, [candidate])
      else known.push(candidate)
    } else this.#root.reach(literalSegments(path)).candidates.push(candidate)
  }

  find(path: string, request: RequestHead, lookup: Lookup<A>): A | undefined {
    const exact = this.#exact.get(path)
    if (exact !== undefined) {
      for (const candidate of exact) {
        lookup.visited++
        if (holds(candidate, path, request, lookup)) return candidate.found
      }
    }
    return tryInOrder(this.#descend(path, lookup), path, request, lookup)
  }

  /** Collects the candidates along the segments of the path. Returns how many lists there are. */
  #descend(path: string, lookup: Lookup<A>): number {
    let node: Segment<A> | undefined = this.#root
    let depth = 0
    // An asterisk-form target has no segments.
    let start = path.startsWith("/") ? 1 : path.length + 1
    while (node !== undefined) {
      if (node.candidates.length > 0) {
        lookup.lists[depth] = node.candidates
        lookup.tried[depth++] = 0
      }
      if (node.isLeaf || start > path.length) break
      const slash = path.indexOf("/", start)
      const end = slash < 0 ? path.length : slash
      node = node.child(path.slice(start, end))
      start = end + 1
    }
    return depth
  }
}

/** Merges the sorted lists: whichever list has the lowest ordinal next is tried next. */
const tryInOrder = <A>(depth: number, path: string, request: RequestHead, lookup: Lookup<A>): A | undefined => {
  const { lists, tried } = lookup
  for (;;) {
    let first: Candidate<A> | undefined
    let from = 0
    for (let i = depth - 1; i >= 0; i--) {
      const candidate = lists[i]![tried[i]!]
      if (candidate !== undefined && (first === undefined || candidate.ordinal < first.ordinal)) {
        first = candidate
        from = i
      }
    }
    if (first === undefined) return undefined
    tried[from]!++
    lookup.visited++
    if (holds(first, path, request, lookup)) return first.found
  }
}

/** Whether all conditions hold, those of exact paths and prefixes apart: the way to the candidate has proved them. */
const holds = <A>(match: Candidate<A>, path: string, request: RequestHead, lookup: Lookup<A>): boolean => {
  if (match.method !== undefined && match.method !== request.method) return false
  for (const header of match.headers) if (!header(request)) return false
  if (match.pattern !== undefined && !match.pattern.matches(path)) return false
  if (match.query.length === 0) return true
  const query = lookup.query(request)
  for (const parameter of match.query) if (!parameter(query)) return false
  return true
}

/** The whole segments that every matching path begins with: where in the trie the match hangs. */
const literalSegments = (path: PathCondition): ReadonlyArray<string> => {
  if (path._tag === "Exact") return path.path.split("/").slice(1)
  if (path._tag === "Prefix") return path.prefix.split("/").slice(1)
  const { literal, fixed } = path.pattern
  if (!literal.startsWith("/")) return []
  const segments = literal.split("/").slice(1)
  // Of the last segment only the beginning is known.
  return fixed ? segments : segments.slice(0, -1)
}
