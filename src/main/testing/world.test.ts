import { assert, describe, it } from "@effect/vitest"
import { Clock, Duration, Effect, Schema } from "effect"
import { HeaderList } from "../../http/header-list.ts"
import { BodyTooLarge } from "../../pipeline/errors.ts"
import { next, policy, respond } from "../../pipeline/stage.ts"
import { Monotonic } from "../../services/monotonic.ts"
import { Timer } from "../../services/timer.ts"
import type { Request } from "./arbitraries.ts"
import { play } from "./play.ts"
import { policyLaws } from "./policy-laws.ts"
import { compileWay, registryOf } from "./way.ts"
import { whole } from "./whole.ts"
import { World, type WorldOptions } from "./world.ts"

const hour = 3_600_000

/** Waits an hour by the clock of Effect, then another by the port, and answers with what both say. */
const patient = policy({
  name: "patient",
  traceKey: "patient",
  schema: Schema.Struct({}),
  sites: ["route"],
  responds: [],
  reads: [],
  writes: [],
  outcomes: ["respond"],
  maturity: { status: "alpha", untrusted: "none" },
  compile: (_) =>
    Effect.gen(function* () {
      const monotonic = yield* Monotonic
      return [
        {
          name: "patient",
          phase: "request",
          run: () =>
            Effect.gen(function* () {
              yield* Effect.sleep("1 hour")
              const later = yield* Timer
              yield* Effect.callback<void>((resume) => {
                const callOff = later(hour, () => resume(Effect.void))
                return Effect.sync(callOff)
              })
              const wall = yield* Clock.currentTimeMillis
              return yield* respond({
                status: 200,
                headers: new HeaderList(),
                body: `${monotonic() / hour} h, ${new Date(wall).toISOString()}`
              })
            })
        }
      ]
    })
})

/** Loads something again every minute, for as long as the configuration lasts. */
const refreshing = policy({
  name: "refreshing",
  traceKey: "refreshing",
  schema: Schema.Struct({}),
  sites: ["route"],
  responds: [],
  reads: [],
  writes: [],
  outcomes: ["next", "fail"],
  maturity: { status: "alpha", untrusted: "none" },
  compile: (_) =>
    Effect.gen(function* () {
      let loads = 0
      yield* Effect.forkScoped(
        Effect.forever(
          Effect.andThen(
            Effect.sync(() => loads++),
            Effect.sleep("1 minute")
          )
        ),
        { startImmediately: true }
      )
      return [
        {
          name: "refreshing",
          phase: "request",
          run: () =>
            Effect.flatMap(Effect.sleep("150 seconds"), () =>
              loads >= 3 ? next : Effect.fail(new BodyTooLarge({ side: "request", limit: loads }))
            )
        }
      ]
    })
})

const request: Request = {
  method: "GET",
  scheme: "http",
  authority: "a.example",
  path: "/",
  headers: [],
  body: undefined,
  prefix: "/"
}

const asked = (attached: Parameters<typeof compileWay>[1], policy: Parameters<typeof registryOf>[0]) =>
  Effect.gen(function* () {
    const world = new World()
    const played = yield* Effect.scoped(
      Effect.flatMap(compileWay(registryOf(policy), attached, world.backend), (listener) =>
        play(listener, request, world, false)
      )
    ).pipe(Effect.provide(world.layer, { local: true }))
    return { played, world }
  })

const timed = (timeout: string, options: WorldOptions) =>
  Effect.gen(function* () {
    const { send, world } = yield* whole(
      `
gateways: { default: { port: 8080 } }
routes: [{ policies: { timeout: { ${timeout} } }, backends: [{ host: "backend.example:80" }] }]
`,
      options
    )
    const { status, body } = yield* send(request)
    return { status, body, took: world.clock() }
  })

const answering = (millis: number): WorldOptions => ({
  backend: { status: 200, headers: [], body: undefined, after: millis }
})

describe("the time of a world", () => {
  it.live("moves on by itself when everything waits", () =>
    Effect.gen(function* () {
      const { played, world } = yield* asked({ route: { patient: {} } }, patient)
      assert.strictEqual(played.body, "2 h, 2026-01-01T02:00:00.000Z")
      assert.strictEqual(world.clock(), 2 * hour)
      assert.deepStrictEqual(world.leaks(), [])
    })
  )

  it.live("passes what is due in its order, and ends with what waits in the background", () =>
    Effect.gen(function* () {
      const { played, world } = yield* asked({ route: { refreshing: {} } }, refreshing)
      assert.strictEqual(played.status, 200, played.body)
      assert.strictEqual(world.clock(), 150_000)
      assert.deepStrictEqual(world.leaks(), [])
    })
  )

  it.live("does not move while something can go on, also where several worlds wait", () =>
    Effect.gen(function* () {
      const turns = (count: number): Effect.Effect<void> =>
        count === 0 ? Effect.void : Effect.andThen(Effect.yieldNow, turns(count - 1))
      const one = (world: World) =>
        Effect.raceFirst(Effect.as(turns(100), "went on"), Effect.as(Effect.sleep(1), "waited")).pipe(
          Effect.provide(world.layer, { local: true })
        )
      const worlds = [new World(), new World()] as const
      assert.deepStrictEqual(yield* Effect.all(worlds.map(one), { concurrency: "unbounded" }), ["went on", "went on"])
      const waiting = (world: World) =>
        Effect.sleep(Duration.days(30)).pipe(Effect.provide(world.layer, { local: true }))
      yield* Effect.all(worlds.map(waiting), { concurrency: "unbounded" })
    })
  )

  it.live("is what a time limit counts, at the backend and as a whole", () =>
    Effect.gen(function* () {
      const inTime = { status: 200, body: "", took: hour }
      assert.deepStrictEqual(yield* timed("requestTimeout: 2h", answering(hour)), inTime)
      const late = { status: 504, body: "upstream call timeout", took: 5 }
      assert.deepStrictEqual(yield* timed("backendRequestTimeout: 5ms", answering(hour)), late)
      assert.strictEqual((yield* timed("requestTimeout: 5ms", answering(hour))).status, 504)
    })
  )

  it.live("holds the laws of a policy that waits", () =>
    Effect.forEach(policyLaws(patient, { runs: 10 }), (law) => law.check)
  )
})
