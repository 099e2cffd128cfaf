/** Chooses the listener of a bind: by the authority of a request, or by the server name of a TLS connection. */
import { Result } from "effect"
import type { ConfigProblem } from "../pipeline/stage.ts"
import { canonicalHostname, HostnameIndex } from "./hostnames.ts"

/** What is wrong between the listener of a TLS connection and the host that a request on it names. */
export type HostMismatch =
  /** Another listener of the bind is meant: 421 `misdirected request`. */
  | "misdirected"
  /** No listener of the bind has that host: 404 `route not found`. */
  | "unknown"

export class Listeners<L> {
  readonly #index: HostnameIndex<L>

  constructor(byHostname: ReadonlyMap<string, L>) {
    this.#index = new HostnameIndex(byHostname)
  }

  /** The listener for the host of a canonical authority: exact hostname, longest `*suffix`, then the one without hostname. */
  forHost(host: string): L | undefined {
    return this.#index.find(host)?.value
  }

  /** The listener for a TLS connection. A client that names no server counts as one that names the empty string. */
  forServerName(name: string | undefined): L | undefined {
    return this.forHost(name === undefined ? "" : name.toLowerCase())
  }

  /** Whether a request for `host` may be served on a connection that TLS assigned to `own`: `undefined` when it may. */
  mismatch(own: L, host: string): HostMismatch | undefined {
    const best = this.forHost(host)
    return best === own ? undefined : best === undefined ? "unknown" : "misdirected"
  }
}

/**
 * @param listeners those of one bind that speak the same protocol. Of two with the same hostname the earlier one counts.
 *   A problem's path begins with the index in this list.
 */
export const compileListeners = <L>(
  listeners: ReadonlyArray<{ readonly hostname: string; readonly value: L }>
): Result.Result<Listeners<L>, ReadonlyArray<ConfigProblem>> => {
  const byHostname = new Map<string, L>()
  const problems: Array<ConfigProblem> = []
  for (const [index, { hostname, value }] of listeners.entries()) {
    const canonical = canonicalHostname(hostname)
    if (Result.isFailure(canonical)) problems.push({ path: [index, "hostname"], message: canonical.failure })
    else if (!byHostname.has(canonical.success)) byHostname.set(canonical.success, value)
  }
  return problems.length > 0 ? Result.fail(problems) : Result.succeed(new Listeners(byHostname))
}
