/** The endpoints of a service at work: the list as it is now, each with its connections, and with how well it does. */
import { Effect, Exit, Scope } from "effect"
import type { Candidate } from "../../src/balance/choice.ts"
import { EndpointHealth } from "../../src/balance/endpoint-health.ts"
import { type EndpointSet, formatAddress, Kept, KeptKind, type ServiceEndpoint } from "../../src/policy/terminal.ts"

/** An endpoint that takes calls, or connections. Its key is its address. */
export interface Member<U> extends Candidate {
  readonly capacity: number
  readonly upstream: U
}

/** The endpoints that may be called. */
export interface Members<U> {
  readonly current: ReadonlyArray<Member<U>>
  /** Follows the list; `undefined`: it is the one that was seen last. */
  readonly following: () => Effect.Effect<void> | undefined
}

interface Opened<U> {
  readonly endpoint: ServiceEndpoint
  readonly member: Member<U>
  readonly scope: Scope.Closeable
}

const kind = new KeptKind<EndpointHealth>("health of an endpoint of a service")

/**
 * Opens the endpoints of a list, and goes with it. What is known of an endpoint outlives a reload, and is forgotten when it goes.
 * @param service what tells its endpoints from those of other services.
 */
export const openMembers = <U>(
  service: string,
  list: EndpointSet,
  open: (endpoint: ServiceEndpoint) => Effect.Effect<U, never, Scope.Scope>,
  clock: () => number
): Effect.Effect<Members<U>, never, Kept | Scope.Scope> =>
  Effect.gen(function* () {
    const { keep } = yield* Kept
    const all = yield* Scope.Scope
    let seen = list.current
    let underWay = false
    let opened: ReadonlyMap<string, Opened<U>> = new Map()

    const openOne = (key: string, endpoint: ServiceEndpoint, made: Array<EndpointHealth>) =>
      Effect.gen(function* () {
        const scope = yield* Scope.fork(all)
        const make = Effect.sync(() => {
          const health = new EndpointHealth()
          made.push(health)
          return health
        })
        const [health, upstream] = yield* Scope.provide(
          Effect.all([keep(kind, `${service} ${key}`, make), open(endpoint)]),
          scope
        )
        return { endpoint, scope, member: { key, health, upstream, capacity: endpoint.capacity } }
      })

    const follow = Effect.gen(function* () {
      const before = opened
      const now = new Map<string, Opened<U>>()
      const made: Array<EndpointHealth> = []
      for (const endpoint of seen) {
        const key = formatAddress(endpoint.address)
        if (endpoint.capacity <= 0) continue
        const same = now.get(key)
        if (same !== undefined) {
          // The port may have made two entries one: it takes what both do.
          const capacity = same.member.capacity + endpoint.capacity
          now.set(key, { ...same, member: { ...same.member, capacity } })
          continue
        }
        const known = before.get(key)
        now.set(
          key,
          known === undefined
            ? yield* openOne(key, endpoint, made)
            : { ...known, endpoint, member: { ...known.member, capacity: endpoint.capacity } }
        )
      }
      // Where nobody was before, nobody is new.
      if (made.length < now.size) for (const health of made) health.grow(clock())
      opened = now
      members.current = Array.from(now.values(), ({ member }) => member)
      for (const [key, { scope }] of before) if (!now.has(key)) yield* Scope.close(scope, Exit.void)
    })

    const members = {
      current: [] as ReadonlyArray<Member<U>>,
      following: () => {
        // Others who ask meanwhile go by what is opened already.
        if (underWay || list.current === seen) return undefined
        return followed
      }
    }
    // Whoever comes upon a change follows it for all, and to the end, even if its own request is given up meanwhile.
    const followed = Effect.uninterruptible(
      Effect.suspend(() => {
        if (underWay || list.current === seen) return Effect.void
        underWay = true
        seen = list.current
        return Effect.ensuring(
          follow,
          Effect.sync(() => {
            underWay = false
          })
        )
      })
    )
    yield* follow
    return members
  })
