/** The HTTP proxies that policies of connections name: a server by its address, or one of the hosts among `backends`. */
import { Context, Effect } from "effect"
import type { PolicySpecs } from "../../spec/standalone/policies.ts"
import { type HttpProxy, Proxies } from "../pipeline/proxies.ts"
import { type ConfigPath, unavailable } from "../pipeline/stage.ts"
import type { Reference } from "../pipeline/sub-calls.ts"
import { isAbsent } from "../routing/lookup.ts"
import { attached } from "../routing/normalise/policies.ts"
import type * as Normalised from "../routing/normalised.ts"
import type { Connections } from "./connections.ts"
import type { Lookup } from "./lookup.ts"
import type { Compiling } from "./problems.ts"
import { noSuch } from "./references.ts"

/** Whether what is compiled is the way to a proxy. */
const OnTheWay = Context.Reference<boolean>("headgate/compile/OnTheWay", { defaultValue: () => false })

export interface ProxySources {
  readonly lookup: Lookup
  readonly specs: PolicySpecs
  readonly connections: Connections
  /** What is in force at a backend that nothing but a reference leads to. */
  readonly inForce: (source: Normalised.Backend, beside: Normalised.Policies) => Normalised.Policies
}

/** Compiles with proxies at hand, and keeps nothing of that afterwards. */
export const withProxies = <A>(sources: ProxySources, compiling: Compiling<A>): Compiling<A> => {
  const held: { sources: ProxySources | undefined } = { sources }
  const over = Effect.sync(() => {
    held.sources = undefined
  })
  const resolve: Proxies["Service"]["resolve"] = (reference, at) =>
    held.sources === undefined
      ? Effect.die(new Error("proxies are resolved while compiling"))
      : proxyOf(held.sources, reference, at)
  return Effect.ensuring(Effect.provideService(compiling, Proxies, { resolve }), over)
}

const proxyOf = (
  { lookup, specs, connections, inForce }: ProxySources,
  { host, backend, policies }: Reference,
  at: ConfigPath
): Compiling<HttpProxy> =>
  Effect.flatMap(OnTheWay, (isNested) => {
    if (isNested) return Effect.fail([{ path: at, message: "a proxy is not reached through another one" }])
    const beside = attached(policies, [...at, "policies"], specs)
    if (host !== undefined) return reached(connections, host, beside)
    if (backend === undefined) return Effect.fail([unavailable([...at, "proxy", "service"], "a service as a proxy")])
    return Effect.flatMap(lookup.find({ backend }), (source) => {
      if (isAbsent(source)) return Effect.fail([noSuch(source, [...at, "proxy"])])
      if (source.destination.kind !== "host")
        return Effect.fail([{ path: [...at, "proxy", "backend"], message: "expected a backend that is a host" }])
      return reached(connections, source.destination.config, inForce(source, beside))
    })
  })

const reached = (
  connections: Connections,
  address: HttpProxy["address"],
  policies: Normalised.Policies
): Compiling<HttpProxy> => {
  const [ofConnection, others] = connections.parted(policies)
  return Effect.map(
    Effect.provideService(connections.compile(ofConnection), OnTheWay, true),
    ({ options }): HttpProxy => ({
      address,
      connections: options,
      policies: Object.values(others).map(({ name, path, branches }) => ({ name, path, config: branches[0]?.config }))
    })
  )
}
