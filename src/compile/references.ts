/**
 * What policies and terminals call, by the references in their configuration: each leads to a compiled backend, once. A backend
 * may refer to others in turn, a few steps deep and never back to where it came from.
 */
import { Context, Effect } from "effect"
import { formatPath } from "../../spec/config/path.ts"
import type { PolicySpecs } from "../../spec/standalone/policies.ts"
import type { Address } from "../../spec/target.ts"
import type { Backend } from "../pipeline/route.ts"
import type { ConfigPath, ConfigProblem } from "../pipeline/stage.ts"
import { callerOf, compileConnected, type Ways } from "../pipeline/sub-call.ts"
import { type Caller, type Reference, SubCalls, type Use } from "../pipeline/sub-calls.ts"
import { type Absent, isAbsent, type Named } from "../routing/lookup.ts"
import { attached, none } from "../routing/normalise/policies.ts"
import type * as Normalised from "../routing/normalised.ts"
import type { Lookup } from "./lookup.ts"
import type { Compiling, Problems } from "./problems.ts"

/** A backend that is being compiled. */
interface Entered {
  readonly key: string
  /** The reference that led to it; none where a route did. */
  readonly from: ConfigPath | undefined
  /** The references of the longest way on from it, as far as it was seen. */
  longest: ReadonlyArray<ConfigPath>
}

/** The backends that are being compiled, each on behalf of the one before it. */
const Following = Context.Reference<ReadonlyArray<Entered>>("headgate/compile/Following", { defaultValue: () => [] })

const mostReferences = 4

/** Compiles a backend that `from` refers to, with policies that stand beside the reference. */
type CompileBackend = (
  source: Normalised.Backend,
  beside: Normalised.Policies,
  from: ConfigPath
) => Compiling<Backend | undefined>

export class References {
  readonly #lookup: Lookup
  readonly #specs: PolicySpecs
  readonly #ways: Ways
  readonly #problems: Problems
  readonly #compile: CompileBackend
  readonly #backends = new Map<string, Backend | undefined>()
  readonly #longest = new Map<string, ReadonlyArray<ConfigPath>>()

  constructor(lookup: Lookup, specs: PolicySpecs, ways: Ways, problems: Problems, compile: CompileBackend) {
    this.#lookup = lookup
    this.#specs = specs
    this.#ways = ways
    this.#problems = problems
    this.#compile = compile
  }

  resolve(reference: Reference, path: ConfigPath, use: Use): Compiling<Caller> {
    const { host, backend, service } = reference
    if (host !== undefined) return this.#host(host, reference, path, use)
    return this.#named(backend === undefined ? { service: service! } : { backend }, reference, path, use)
  }

  /** Compiles what belongs to a backend: references in it go on from there. */
  entering<A>(key: string, from: ConfigPath | undefined, compiling: Compiling<A>): Compiling<A> {
    return Effect.flatMap(Following, (way) => {
      const entered: Entered = { key, from, longest: this.#longest.get(key) ?? [] }
      return Effect.map(Effect.provideService(compiling, Following, [...way, entered]), (result) => {
        this.#longest.set(key, entered.longest)
        return result
      })
    })
  }

  #host(host: Address, { policies = {} }: Reference, path: ConfigPath, use: Use): Compiling<Caller> {
    const key = formatPath(path)
    const source: Normalised.Backend = {
      key,
      name: key,
      namespace: "",
      destination: { kind: "host", config: host },
      policies: attached(policies, policiesAt(path, use), this.#specs),
      path
    }
    const compiling = this.#compile(source, none, path)
    if (use.connections === undefined) return this.#caller(source, use, compiling)
    const secured = use.connections.tls !== undefined
    return this.#caller(source, use, compileConnected(use.connections, compiling), secured)
  }

  #named(named: Named, { policies = {} }: Reference, path: ConfigPath, use: Use): Compiling<Caller> {
    const beside = attached(policies, policiesAt(path, use), this.#specs)
    return Effect.flatMap(this.#lookup.find(named), (found): Compiling<Caller> => {
      if (isAbsent(found)) return Effect.fail([noSuch(found, path)])
      // Nothing leads on from a service: it has no policies of its own.
      const { connections } = use
      const compiling =
        named.backend === undefined
          ? this.#compile(found, beside, path)
          : this.#followed(found, beside, [...path, "backend"], connections === undefined)
      return this.#caller(found, use, connections === undefined ? compiling : compileConnected(connections, compiling))
    })
  }

  /** The backend at the end of a reference, unless it leads in a circle, or too far. */
  #followed(
    source: Normalised.Backend,
    beside: Normalised.Policies,
    at: ConfigPath,
    usual: boolean
  ): Compiling<Backend | undefined> {
    const { key } = source
    return Effect.flatMap(Following, (way): Compiling<Backend | undefined> => {
      const before = way.findIndex((entered) => entered.key === key)
      if (before >= 0) return Effect.fail([circle([...placesOf(way.slice(before + 1)), at])])
      const places = [...placesOf(way), at]
      if (places.length > mostReferences) return Effect.fail([tooFar(places)])
      const isShared = usual && Object.keys(beside).length === 0
      const compiling =
        isShared && this.#backends.has(key)
          ? Effect.succeed(this.#backends.get(key))
          : this.#compile(source, beside, at)
      return Effect.flatMap(compiling, (backend): Compiling<Backend | undefined> => {
        if (isShared) this.#backends.set(key, backend)
        const further = this.#longest.get(key) ?? []
        const caller = way.at(-1)
        if (caller !== undefined && further.length >= caller.longest.length) caller.longest = [at, ...further]
        const all = [...places, ...further]
        return all.length > mostReferences ? Effect.fail([tooFar(all)]) : Effect.succeed(backend)
      })
    })
  }

  /** @param secured whether its connections have TLS where neither its address nor its policies say it. */
  #caller(
    source: Normalised.Backend,
    use: Use,
    compiling: Compiling<Backend | undefined>,
    secured = false
  ): Compiling<Caller> {
    return Effect.flatMap(compiling, (backend): Compiling<Caller> => {
      // What is wrong with it is told where it stands, and is a reason to go no further here.
      if (backend === undefined) return Effect.fail(this.#problems.list)
      const address = addressOf(source, secured || backend.secured === true)
      return Effect.succeed(callerOf(this.#ways, backend, address, use.purpose))
    })
  }
}

/** A reference by a name that leads nowhere, at `path`. */
export const noSuch = ({ absent, message, meant }: Absent, path: ConfigPath): ConfigProblem => ({
  path: [...path, absent],
  message: `${message}${meant}`
})

/**
 * Compiles with references at hand. What goes on running afterwards keeps the services that it began with: they must not keep
 * everything that compiling needed.
 */
export const withReferences = <A>(references: References, compiling: Compiling<A>): Compiling<A> => {
  const held: Held = { references }
  const over = Effect.sync(() => {
    held.references = undefined
  })
  return Effect.ensuring(Effect.provideService(compiling, SubCalls, portOf(held)), over)
}

interface Held {
  references: References | undefined
}

const portOf = (held: Held): SubCalls["Service"] => ({
  resolve: (reference, path, use) =>
    held.references?.resolve(reference, path, use) ?? Effect.die(new Error("references are resolved while compiling"))
})

const policiesAt = (path: ConfigPath, use: Use): ConfigPath => use.policiesAt ?? [...path, "policies"]

const placesOf = (way: ReadonlyArray<Entered>): ReadonlyArray<ConfigPath> =>
  way.flatMap(({ from }) => (from ? [from] : []))

const shown = (places: ReadonlyArray<ConfigPath>): string => places.map(formatPath).join(" -> ")

/** The same problem, wherever on the circle it was entered. */
const circle = (places: ReadonlyArray<ConfigPath>): ConfigProblem => {
  const texts = places.map(formatPath)
  const first = texts.indexOf(texts.toSorted()[0]!)
  const around = [...places.slice(first), ...places.slice(0, first)]
  return { path: around[0]!, message: `backends call one another in a circle: ${shown([...around, around[0]!])}` }
}

const tooFar = (places: ReadonlyArray<ConfigPath>): ConfigProblem => {
  const some = places.slice(0, mostReferences + 1)
  return {
    path: some.at(-1)!,
    message: `expected at most ${mostReferences} references from one backend to the next: ${shown(some)}`
  }
}

/** The address of a backend, if it is known by one. */
const addressOf = ({ destination }: Normalised.Backend, secured: boolean): Address | undefined => {
  if (destination.kind === "service") {
    const { service, port } = destination.config
    return { kind: "tcp", host: hostnameOf(service), port, tls: secured }
  }
  if (destination.kind !== "host") return undefined
  const { config } = destination
  return config.kind === "tcp" && secured ? { ...config, tls: true } : config
}

const hostnameOf = (service: string): string => service.slice(service.indexOf("/") + 1)
