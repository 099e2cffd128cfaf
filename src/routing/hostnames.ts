/**
 * Finds what is configured for a host, the most specific hostname first: the exact name, then the longest wildcard
 * suffix, then what has no hostname. Which hostname is the next wider one is known before any request comes.
 */
import { Result } from "effect"
import { withoutRoot } from "../http/authority.ts"
import type { ConfigProblem } from "../pipeline/stage.ts"

export interface HostnameEntry<T> {
  /** Lower-case; `""` stands for any host. */
  readonly hostname: string
  readonly value: T
  /** The next less specific hostname that matches every host that this one matches. */
  readonly wider: HostnameEntry<T> | undefined
}

const wellFormed = /^(?:\*?[a-z0-9._-]*|\[[0-9a-f:.]{2,45}\])$/

/** The form in which requests name the host: lower case, without the dot of an absolute name. Or what is wrong with it. */
export const canonicalHostname = (hostname: string): Result.Result<string, string> => {
  const lower = withoutRoot(hostname.toLowerCase())
  return lower !== undefined && wellFormed.test(lower)
    ? Result.succeed(lower)
    : Result.fail("a hostname has letters, digits, dots and hyphens, may begin with *, and bears no port")
}

const anyHost: ReadonlySet<string> = new Set([""])

/**
 * The hostnames of a route, canonical and each once. None at all, an empty one and a plain `*` are `""`: any host.
 * A problem's path begins with the index of the hostname.
 */
export const canonicalHostnames = (
  hostnames: ReadonlyArray<string> | undefined
): Result.Result<ReadonlySet<string>, ReadonlyArray<ConfigProblem>> => {
  if (hostnames === undefined || hostnames.length === 0) return Result.succeed(anyHost)
  const canonical = new Set<string>()
  const problems: Array<ConfigProblem> = []
  for (const [index, hostname] of hostnames.entries()) {
    const lower = canonicalHostname(hostname)
    if (Result.isFailure(lower)) problems.push({ path: [index], message: lower.failure })
    else canonical.add(lower.success === "*" ? "" : lower.success)
  }
  return problems.length > 0 ? Result.fail(problems) : Result.succeed(canonical)
}

interface SuffixLength {
  readonly length: number
  /** Whether all suffixes of this length begin with a dot, so that most hosts can be told apart without a slice. */
  dotted: boolean
}

export class HostnameIndex<T> {
  readonly #exact = new Map<string, HostnameEntry<T>>()
  /** By what follows the `*`. */
  readonly #suffixes = new Map<string, HostnameEntry<T>>()
  /** The distinct lengths of the suffixes, longest first. */
  readonly #lengths: ReadonlyArray<SuffixLength>
  readonly #any: HostnameEntry<T> | undefined

  /**
   * @param values by canonical hostname. `*suffix` matches every host that ends so, `*` every host; `""` comes last.
   */
  constructor(values: ReadonlyMap<string, T>) {
    const wildcards = [...values.keys()].filter((hostname) => hostname.startsWith("*"))
    const lengths = new Map<number, SuffixLength>()
    for (const wildcard of wildcards) {
      const length = wildcard.length - 1
      const known = lengths.get(length)
      if (known === undefined) lengths.set(length, { length, dotted: wildcard[1] === "." })
      else known.dotted &&= wildcard[1] === "."
    }
    this.#lengths = [...lengths.values()].sort((a, b) => b.length - a.length)
    const any = values.get("")
    this.#any = any === undefined ? undefined : { hostname: "", value: any, wider: undefined }
    // Shortest first, so that the wider entry is there when a narrower one is made.
    for (const hostname of wildcards.sort((a, b) => a.length - b.length)) {
      const suffix = hostname.slice(1)
      this.#suffixes.set(suffix, { hostname, value: values.get(hostname)!, wider: this.#suffixOf(suffix) })
    }
    for (const [hostname, value] of values)
      if (hostname !== "" && !hostname.startsWith("*"))
        this.#exact.set(hostname, { hostname, value, wider: this.#suffixOf(hostname) })
  }

  /** The most specific entry for a lower-case host without port. Further ones follow through `wider`. */
  find(host: string): HostnameEntry<T> | undefined {
    return this.#exact.get(host) ?? this.#suffixOf(host)
  }

  #suffixOf(host: string): HostnameEntry<T> | undefined {
    for (const { length, dotted } of this.#lengths) {
      const start = host.length - length
      if (start < 0 || (dotted && host.charCodeAt(start) !== 0x2e)) continue
      const found = this.#suffixes.get(host.slice(start))
      if (found !== undefined) return found
    }
    return this.#any
  }
}
