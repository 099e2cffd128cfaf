import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber, Scope } from "effect"
import * as KeptLayer from "../../layers/kept.ts"
import { plainRequest, whole } from "../../src/main/testing/whole.ts"
import { Discovery, formatAddress, type ServiceEndpoint } from "../../src/policy/terminal.ts"
import { openMembers } from "./endpoints.ts"

const endpoint = (host: string, capacity = 1): ServiceEndpoint => ({
  address: { kind: "tcp", host, port: 80, tls: false },
  capacity
})

const configuration = `
gateways: { default: { port: 8080 } }
routes: [{ backends: [{ service: { name: default/orders, port: 80 } }] }]
`

/** A service whose endpoints somebody else finds out, and how often it was asked for. */
const discovered = (...first: ReadonlyArray<ServiceEndpoint>) => {
  const list = { current: first }
  const service = {
    list,
    asked: 0,
    find: (name: string, port: number) => {
      service.asked++
      return name === "default/orders" && port === 80 ? list : undefined
    }
  }
  return service
}

describe("the endpoints of a service", () => {
  it.live(
    "are opened when they come and closed when they go, and keep what is known of them while they are there",
    () =>
      Effect.gen(function* () {
        const open = new Set<string>()
        const opened = ({ address }: ServiceEndpoint) =>
          Effect.acquireRelease(
            Effect.sync(() => {
              open.add(formatAddress(address))
              return { send: () => Effect.never }
            }),
            () => Effect.sync(() => void open.delete(formatAddress(address)))
          )
        const list: { current: ReadonlyArray<ServiceEndpoint> } = {
          current: [endpoint("a"), endpoint("b"), endpoint("z", 0)]
        }
        const members = yield* openMembers("default/orders:80", list, opened, () => 1000)
        const shown = () => members.current.map(({ key, capacity, health }) => [key, capacity, health.grown(1000)])
        assert.deepStrictEqual(shown(), [
          ["a:80", 1, 1],
          ["b:80", 1, 1]
        ])
        assert.isUndefined(members.following())
        const [a] = members.current

        list.current = [endpoint("c"), endpoint("a", 3)]
        yield* members.following()!
        assert.isUndefined(members.following())
        assert.deepStrictEqual(shown(), [
          ["c:80", 1, 0.1],
          ["a:80", 3, 1]
        ])
        assert.strictEqual(members.current[1]!.health, a!.health)
        assert.deepStrictEqual([...open].sort(), ["a:80", "c:80"])

        // Another configuration with the same service knows the same of them.
        const scope = yield* Scope.make()
        const after = yield* Scope.provide(
          openMembers("default/orders:80", list, opened, () => 2000),
          scope
        )
        assert.strictEqual(after.current[1]!.health, a!.health)
        yield* Scope.close(scope, Exit.void)

        list.current = []
        yield* members.following()!
        assert.deepStrictEqual(members.current, [])
        list.current = [endpoint("a")]
        yield* members.following()!
        assert.notStrictEqual(members.current[0]!.health, a!.health)
        assert.strictEqual(members.current[0]!.health.grown(1000), 1, "where nobody is, nobody is new")
      }).pipe(Effect.scoped, Effect.provide(KeptLayer.layer))
  )

  it.live("are one where they are at the same address, and take what both do", () =>
    Effect.gen(function* () {
      const list = { current: [endpoint("a", 2), endpoint("b"), endpoint("a", 3), endpoint("a", 0)] }
      const open = () => Effect.succeed({ send: () => Effect.never })
      const members = yield* openMembers("default/orders:80", list, open, () => 1000)
      const shown = () => members.current.map(({ key, capacity }) => [key, capacity])
      assert.deepStrictEqual(shown(), [
        ["a:80", 5],
        ["b:80", 1]
      ])
      list.current = [endpoint("a", 2)]
      yield* members.following()!
      assert.deepStrictEqual(shown(), [["a:80", 2]])
    }).pipe(Effect.scoped, Effect.provide(KeptLayer.layer))
  )

  it.live(
    "are followed to the end although the request that came upon the change is given up, one change after the other",
    () =>
      Effect.gen(function* () {
        const gate = yield* Deferred.make<void>()
        const opened: Array<string> = []
        const open = ({ address }: ServiceEndpoint) =>
          Effect.gen(function* () {
            opened.push(formatAddress(address))
            if (opened.length > 1) yield* Deferred.await(gate)
            return { send: () => Effect.never }
          })
        const list: { current: ReadonlyArray<ServiceEndpoint> } = { current: [endpoint("a")] }
        const members = yield* openMembers("default/orders:80", list, open, () => 1000)
        list.current = [endpoint("b"), endpoint("c")]
        const first = yield* Effect.forkChild(members.following()!, { startImmediately: true })
        list.current = [endpoint("c"), endpoint("d")]
        assert.isUndefined(members.following(), "nobody follows while another does")
        assert.deepStrictEqual(
          members.current.map(({ key }) => key),
          ["a:80"]
        )
        const given = yield* Effect.forkChild(Fiber.interrupt(first), { startImmediately: true })
        yield* Deferred.succeed(gate, undefined)
        yield* Fiber.join(given)
        assert.deepStrictEqual(
          members.current.map(({ key }) => key),
          ["b:80", "c:80"]
        )
        yield* members.following()!
        assert.deepStrictEqual(
          members.current.map(({ key }) => key),
          ["c:80", "d:80"]
        )
        assert.deepStrictEqual(opened, ["a:80", "b:80", "c:80", "d:80"])
      }).pipe(Effect.scoped, Effect.provide(KeptLayer.layer))
  )

  it.live("change a hundred times a second, and nothing is compiled", () =>
    Effect.gen(function* () {
      const service = discovered(endpoint("10.0.0.0"))
      const { world, send } = yield* Effect.provideService(whole(configuration), Discovery, service)
      const { asked } = service
      assert.isAbove(asked, 0)
      for (let second = 0; second < 3; second++)
        for (let change = 0; change < 100; change++) {
          service.list.current = [endpoint(`10.0.${second}.${change}`)]
          const { status } = yield* send(plainRequest)
          assert.strictEqual(status, 200)
          assert.strictEqual(world.called.at(-1), `GET 10.0.${second}.${change}:80/`)
          yield* Effect.provideContext(Effect.sleep(10), world.timing)
        }
      service.list.current = []
      assert.strictEqual((yield* send(plainRequest)).status, 503)
      assert.strictEqual(service.asked, asked)
      assert.deepStrictEqual(world.leaks(), [])
    }).pipe(Effect.scoped)
  )

  it.live("get less than a twentieth of the requests where they are one of three and never answer", () =>
    Effect.gen(function* () {
      const service = discovered(endpoint("10.0.0.1"), endpoint("10.0.0.2"), endpoint("10.0.0.3"))
      const backend = ({ target }: { readonly target: string }) => ({
        status: 200,
        headers: [],
        body: undefined,
        after: target === "10.0.0.1:80" ? 3_600_000 : 10
      })
      const { world, send } = yield* Effect.provideService(whole(configuration, { backend }), Discovery, service)
      const soon = (seconds: number) =>
        Effect.gen(function* () {
          for (let each = 0; each < seconds * 100; each++) {
            yield* Effect.forkChild(Effect.provideContext(send(plainRequest, { watched: false }), world.timing))
            yield* Effect.provideContext(Effect.sleep(10), world.timing)
          }
        })
      yield* soon(2)
      const before = world.called.length
      yield* soon(6)
      const after = world.called.slice(before)
      const lost = after.filter((call) => call.includes("10.0.0.1")).length
      assert.isAbove(after.length, 500)
      assert.isBelow(lost / after.length, 0.05)
    }).pipe(Effect.scoped)
  )
})
