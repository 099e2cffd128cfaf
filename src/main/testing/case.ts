/** One case of a law: policies at their sites, what is asked of them, and how the world answers; and how it is run. */
import { Arbitrary, Effect, type Layer, type Scope } from "effect"
import type { Contact } from "../../pipeline/contact.ts"
import { nothingHidden, placesOf } from "../../pipeline/hidden.ts"
import type { Registry, Services } from "../../pipeline/registry.ts"
import type { Listener, Route } from "../../pipeline/route.ts"
import type { Step } from "../../pipeline/run.ts"
import { type Site, siteNames } from "../../pipeline/site.ts"
import type { AnyPolicy, ConfigProblem } from "../../pipeline/stage.ts"
import {
  anyOf,
  type Configuration,
  type ConfigurationOptions,
  configurations,
  content,
  flag,
  oneOf,
  type Request,
  requests
} from "./arbitraries.ts"
import type { Troubled } from "./attempts.ts"
import { type Played, type PlayOptions, play } from "./play.ts"
import { type Branches, compileWay } from "./way.ts"
import { type BackendAnswer, World, type WorldOptions } from "./world.ts"

export interface Case {
  readonly attached: { readonly [S in Site]?: Readonly<Record<string, Configuration>> }
  /** One after the other. */
  readonly requests: ReadonlyArray<Request>
  readonly backend: BackendAnswer
  /** Whether everything outside answers later, or at once. */
  readonly waits: boolean
  /** Turns of the event loop after which the client goes away, where a law is about that. */
  readonly patience: number
  readonly outside?: WorldOptions["outside"]
}

/** What laws are about: policies, where cases of them come from, and the services that they need. */
export interface Subject<L extends ReadonlyArray<AnyPolicy> = ReadonlyArray<AnyPolicy>> {
  readonly registry: Registry<L>
  readonly cases: Arbitrary.Arbitrary<Case>
  readonly layer: (world: World) => Layer.Layer<Services<L>>
}

const backends: Arbitrary.Arbitrary<BackendAnswer> = Arbitrary.all({
  status: oneOf(200, 201, 404, 503),
  headers: oneOf<BackendAnswer["headers"]>([], [["x-a", "1"]], [["content-type", "text/plain"]]),
  body: content,
  after: oneOf(0, 0, 0, 0, 3, 3_600_000)
})

/** What may be asked of some configurations. */
export const caseOf = (attached: Case["attached"]): Arbitrary.Arbitrary<Case> => {
  const decoded = Object.values(attached).flatMap((at) => Object.values(at ?? {}).map((config) => config.decoded))
  return Arbitrary.map(
    Arbitrary.all({
      requests: Arbitrary.array(requests(...decoded), { minLength: 1, maxLength: 3 }),
      backend: backends,
      waits: flag,
      patience: oneOf(0, 1, 2, 3, 4, 5, 6, 7, 8)
    }),
    (rest) => ({ attached, ...rest })
  )
}

/** Cases of one policy alone. */
export const casesOf = (policy: AnyPolicy, options?: ConfigurationOptions): Arbitrary.Arbitrary<Case> => {
  const found = Arbitrary.all([oneOf(...policy.sites), configurations(policy, options)])
  return Arbitrary.flatMap(found, ([site, config]) => caseOf({ [site]: { [policy.name]: config } }))
}

/** Cases of several policies together, each of them now and then at each of its sites. */
export const mixturesOf = (
  policies: ReadonlyArray<AnyPolicy>,
  options?: ConfigurationOptions
): Arbitrary.Arbitrary<Case> => {
  const places = policies.flatMap((policy) => policy.sites.map((site) => ({ site, policy })))
  const all = Arbitrary.all(
    places.map(({ site, policy }) =>
      anyOf<{ site: Site; name: string; config: Configuration } | undefined>(
        oneOf(undefined),
        oneOf(undefined),
        Arbitrary.map(configurations(policy, options), (config) => ({ site, name: policy.name, config }))
      )
    )
  )
  return Arbitrary.flatMap(all, (found) =>
    caseOf(
      Object.fromEntries(
        siteNames.map((at) => [
          at,
          Object.fromEntries(found.flatMap((one) => (one?.site === at ? [[one.name, one.config] as const] : [])))
        ])
      )
    )
  )
}

export interface CaseOptions {
  /** Whether every server that a policy asks is down. */
  readonly failing?: boolean | undefined
  /** Sees, and may replace, every step. */
  readonly step?: ((step: Step) => Step) | undefined
  /** The same for those of connections. */
  readonly connectionStep?: ((step: Step<Contact>) => Step<Contact>) | undefined
  /** What becomes of the first attempts at the backend. Default: there is one. */
  readonly troubled?: Troubled | undefined
  /** Whether its policies are conditional, and how. Default: they are not. */
  readonly branches?: Branches | undefined
}

/** Compiles the policies of a case in a world of its own, which ends with the effect. */
export const inWorld = <L extends ReadonlyArray<AnyPolicy>, A, E>(
  subject: Subject<L>,
  { attached, backend, waits, outside }: Case,
  { failing, step = same, connectionStep = same, troubled, branches }: CaseOptions,
  use: (listener: Listener, world: World) => Effect.Effect<A, E, Scope.Scope>
): Effect.Effect<A, E | ReadonlyArray<ConfigProblem>> => {
  const world = new World({ backend, waits, failing, outside })
  const decoded = Object.fromEntries(
    siteNames.map((site) => [
      site,
      Object.fromEntries(Object.entries(attached[site] ?? {}).map(([name, config]) => [name, config.decoded]))
    ])
  )
  const call = troubled?.call(world) ?? world.backend
  const compiled = compileWay(subject.registry, decoded, call, troubled?.plan, branches)
  const used = Effect.scoped(
    Effect.flatMap(compiled, (listener) => use(mapSteps(listener, step, connectionStep), world))
  )
  // The compiler cannot subtract the services of an unknown registry from themselves.
  return Effect.provide(used, subject.layer(world), { local: true }) as Effect.Effect<
    A,
    E | ReadonlyArray<ConfigProblem>
  >
}

/** Plays the requests of a case one after the other. */
export const playAll = <L extends ReadonlyArray<AnyPolicy>>(
  subject: Subject<L>,
  scenario: Case,
  watched: boolean,
  options: CaseOptions & Pick<PlayOptions, "answered"> = {}
): Effect.Effect<{ readonly played: ReadonlyArray<Played>; readonly world: World }, ReadonlyArray<ConfigProblem>> =>
  Effect.suspend(() => {
    const hidden = { ...nothingHidden, ...placesOf(scenario.attached) }
    return inWorld(subject, scenario, options, (listener, world) =>
      Effect.map(
        Effect.forEach(scenario.requests, (request) =>
          play(listener, request, world, watched, { answered: options.answered, hidden })
        ),
        (played) => ({ played, world })
      )
    )
  })

const same = <A>(step: A): A => step

const mapSteps = (
  listener: Listener,
  change: (step: Step) => Step,
  ofConnection: (step: Step<Contact>) => Step<Contact>
): Listener => {
  const ofRoute = (route: Route): Route => ({
    ...route,
    steps: route.steps.map(change),
    response: route.response.map(change),
    choose: (x) => {
      const backend = route.choose(x)
      return "_tag" in backend
        ? backend
        : {
            ...backend,
            steps: backend.steps.map(change),
            beside: backend.beside?.map(change),
            backendResponse: backend.backendResponse.map(change),
            response: backend.response.map(change)
          }
    }
  })
  return {
    ...listener,
    admission: listener.admission && { ...listener.admission, steps: listener.admission.steps.map(ofConnection) },
    steps: listener.steps.map(change),
    response: listener.response.map(change),
    select: (x) => {
      const { route, ...selection } = listener.select(x)
      return { ...selection, route: route === undefined ? undefined : ofRoute(route) }
    }
  }
}
