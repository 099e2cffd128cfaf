/** The TCP routes of a listener: chosen by the server name of the TLS connection, if there is one, and by nothing else. */
import { Result } from "effect"
import type { ConfigProblem } from "../pipeline/stage.ts"
import { canonicalHostnames, HostnameIndex } from "./hostnames.ts"

export interface TcpRouteEntry<T> {
  /** Of several routes for one hostname the lexicographically smallest key wins. */
  readonly key: string
  /** None, an empty one or a plain `*`: any connection, also one without server name. */
  readonly hostnames?: ReadonlyArray<string> | undefined
  readonly value: T
}

export class TcpRoutes<T> {
  readonly #index: HostnameIndex<TcpRouteEntry<T>>

  constructor(winners: ReadonlyMap<string, TcpRouteEntry<T>>) {
    this.#index = new HostnameIndex(winners)
  }

  /** @param serverName of the TLS connection, in any case; `undefined` when the client named none, or without TLS. */
  find(serverName: string | undefined): T | undefined {
    return this.#index.find(serverName === undefined ? "" : serverName.toLowerCase())?.value.value
  }
}

/** A problem's path begins with the index of the route. */
export const compileTcpRoutes = <T>(
  routes: ReadonlyArray<TcpRouteEntry<T>>
): Result.Result<TcpRoutes<T>, ReadonlyArray<ConfigProblem>> => {
  const winners = new Map<string, TcpRouteEntry<T>>()
  const problems: Array<ConfigProblem> = []
  for (const [index, route] of routes.entries()) {
    const hostnames = canonicalHostnames(route.hostnames)
    if (Result.isFailure(hostnames)) {
      for (const { path, message } of hostnames.failure) problems.push({ path: [index, "hostnames", ...path], message })
      continue
    }
    for (const hostname of hostnames.success) {
      const known = winners.get(hostname)
      if (known === undefined || route.key < known.key) winners.set(hostname, route)
    }
  }
  return problems.length > 0 ? Result.fail(problems) : Result.succeed(new TcpRoutes(winners))
}
