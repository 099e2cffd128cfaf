import { mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber, Layer, Scope } from "effect"
import { TestClock } from "effect/testing"
import { HeaderList } from "../../src/http/header-list.ts"
import { type OutboundCall, type OutboundWatch, WatchCalls } from "../../src/pipeline/outbound.ts"
import { toldFetch } from "../../src/pipeline/told-fetch.ts"
import { type Fetched, FetchFailed, HttpFetch } from "../../src/services/http-fetch.ts"
import { Jwks, type KeySet } from "../../src/services/jwks.ts"
import { Log } from "../../src/services/log.ts"
import { keySet, publicKey } from "../../test/tokens.ts"
import * as Documents from "../documents/layer.ts"
import * as Files from "../files.ts"
import * as ConsoleLog from "../log/console.ts"
import { layer } from "./live.ts"

const url = "https://issuer.example/certs"

/** An issuer under the test's control. */
const issuer = () => {
  const state = {
    fetches: 0,
    lines: [] as Array<string>,
    answer: (): Effect.Effect<Fetched, FetchFailed> => Effect.fail(new FetchFailed({ url, detail: "refused" }))
  }
  const publishing =
    (text: string, headers: Array<string> = [], status = 200) =>
    () =>
      Effect.succeed({ status, headers: new HeaderList(headers), body: new TextEncoder().encode(text) })
  const services = layer.pipe(
    Layer.provide(Layer.merge(Files.layer, Documents.layer)),
    Layer.provide(
      Layer.mergeAll(
        Layer.succeed(HttpFetch, {
          fetch: toldFetch(
            () =>
              Effect.suspend(() => {
                state.fetches++
                return state.answer()
              }),
            () => ({ record: () => {} }),
            () => 0
          )
        }),
        Layer.succeed(Log, {
          ...ConsoleLog.make({ filter: "off", format: "text", write: () => {}, now: () => 0 }),
          log: (_level, _target, message) => state.lines.push(message)
        })
      )
    )
  )
  const run = <A, E>(effect: Effect.Effect<A, E, Jwks | Scope.Scope>) =>
    Effect.provide(effect, services, { local: true })
  return { state, publishing, run, open: Effect.flatMap(Jwks, (jwks) => jwks.open({ url })) }
}

const ids = (set: KeySet) => {
  const keys = set.current()
  return keys === undefined ? undefined : [...keys.keys()]
}

describe("a remote key set", () => {
  it.effect("is refreshed when the issuer says, a quarter of an hour after when it does not", () => {
    const { state, publishing, run, open } = issuer()
    return run(
      Effect.gen(function* () {
        state.answer = publishing(keySet("rsa-1"), ["cache-control", "max-age=300"])
        const set = yield* open
        yield* set.refresh
        assert.deepStrictEqual(ids(set), ["rsa-1"])
        state.answer = publishing(keySet("rsa-2"))
        yield* TestClock.adjust("299 seconds")
        assert.deepStrictEqual([ids(set), state.fetches], [["rsa-1"], 1])
        yield* TestClock.adjust("1 second")
        assert.deepStrictEqual([ids(set), state.fetches], [["rsa-2"], 2])
        yield* TestClock.adjust("899 seconds")
        assert.strictEqual(state.fetches, 2)
        yield* TestClock.adjust("1 second")
        assert.strictEqual(state.fetches, 3)
      })
    )
  })

  it.effect("is fetched no sooner than after a minute, and no later than after a day", () => {
    const { state, publishing, run, open } = issuer()
    return run(
      Effect.gen(function* () {
        state.answer = publishing(keySet("rsa-1"), ["cache-control", "max-age=0"])
        yield* open
        yield* TestClock.adjust("59 seconds")
        assert.strictEqual(state.fetches, 1)
        state.answer = publishing(keySet("rsa-1"), ["cache-control", "max-age=31536000"])
        yield* TestClock.adjust("1 second")
        assert.strictEqual(state.fetches, 2)
        yield* TestClock.adjust("24 hours")
        assert.strictEqual(state.fetches, 3)
      })
    )
  })

  it.effect("that did not change stays the same object", () => {
    const { state, publishing, run, open } = issuer()
    return run(
      Effect.gen(function* () {
        state.answer = publishing(keySet("rsa-1"))
        const set = yield* open
        yield* set.refresh
        const before = set.current()
        yield* TestClock.adjust("15 minutes")
        assert.strictEqual(state.fetches, 2)
        assert.strictEqual(set.current(), before)
      })
    )
  })

  it.effect("of an issuer that is down at first is empty-handed until it answers, after ever longer pauses", () => {
    const { state, publishing, run, open } = issuer()
    return run(
      Effect.gen(function* () {
        const set = yield* open
        yield* set.refresh
        assert.strictEqual(ids(set), undefined)
        const attempts: Array<number> = []
        for (let second = 0; second < 62; second++) {
          const before = state.fetches
          yield* TestClock.adjust("1 second")
          if (state.fetches > before) attempts.push(second + 1)
        }
        assert.deepStrictEqual(attempts, [1, 3, 7, 15, 30, 45, 60])
        assert.deepStrictEqual(state.lines, [`${url}: key set not loaded: refused`])
        state.answer = publishing(keySet("ec-256"))
        yield* TestClock.adjust("15 seconds")
        assert.deepStrictEqual(ids(set), ["ec-256"])
      })
    )
  })

  it.effect("keeps its keys when the issuer stops answering, answers with an error, or with nonsense", () => {
    const { state, publishing, run, open } = issuer()
    return run(
      Effect.gen(function* () {
        state.answer = publishing(keySet("rsa-1"))
        const set = yield* open
        yield* set.refresh
        const failed = issuer().state.answer
        for (const answer of [failed, publishing("busy", [], 503), publishing("<html>")]) {
          state.answer = answer
          yield* TestClock.adjust("15 minutes")
          assert.deepStrictEqual(ids(set), ["rsa-1"])
        }
        assert.deepStrictEqual(state.lines, [
          `${url}: key set not loaded: refused`,
          `${url}: key set not loaded: status 503`,
          `${url}: key set not loaded: expected a JSON Web Key Set: an object with a list "keys"`
        ])
        state.answer = publishing(keySet("rsa-2"))
        yield* TestClock.adjust("15 seconds")
        assert.deepStrictEqual(ids(set), ["rsa-2"])
      })
    )
  })

  it.effect("drops keys that the issuer withdrew, and passes over those that it cannot use", () => {
    const { state, publishing, run, open } = issuer()
    return run(
      Effect.gen(function* () {
        state.answer = publishing(keySet("rsa-1", "ec-256"))
        const set = yield* open
        yield* set.refresh
        assert.deepStrictEqual(ids(set), ["rsa-1", "ec-256"])
        state.answer = publishing(JSON.stringify({ keys: [publicKey("ec-521"), publicKey("ec-256")] }))
        yield* TestClock.adjust("15 minutes")
        assert.deepStrictEqual(ids(set), ["ec-256"])
        assert.deepStrictEqual(state.lines, [
          `${url}: key passed over: keys[0]: keys of type "EC P-521" are not supported`
        ])
      })
    )
  })

  it.effect("is fetched once per interval, however many ask for it", () => {
    const { state, publishing, run, open } = issuer()
    return run(
      Effect.gen(function* () {
        state.answer = publishing(keySet("rsa-1"))
        const set = yield* open
        const flood = Effect.all(
          Array.from({ length: 500 }, () => set.refresh),
          { concurrency: "unbounded" }
        )
        yield* flood
        assert.strictEqual(state.fetches, 1)
        yield* TestClock.adjust("29 seconds")
        yield* flood
        assert.strictEqual(state.fetches, 1)
        yield* TestClock.adjust("1 second")
        yield* flood
        assert.strictEqual(state.fetches, 2)
      })
    )
  })

  it.effect("whoever asks waits for the attempt under way, and may leave without ending it", () => {
    const { state, publishing, run, open } = issuer()
    return run(
      Effect.gen(function* () {
        const gate = yield* Deferred.make<void>()
        state.answer = () => Effect.andThen(Deferred.await(gate), publishing(keySet("rsa-1"))())
        const set = yield* open
        const patient = yield* Effect.forkChild(set.refresh, { startImmediately: true })
        const leaving = yield* Effect.forkChild(set.refresh, { startImmediately: true })
        yield* Fiber.interrupt(leaving)
        assert.strictEqual(ids(set), undefined)
        yield* Deferred.succeed(gate, undefined)
        yield* Fiber.join(patient)
        assert.deepStrictEqual([ids(set), state.fetches], [["rsa-1"], 1])
      })
    )
  })

  it.effect("whoever asks a provider that hangs waits for two seconds, and the attempt goes on without them", () => {
    const { state, publishing, run, open } = issuer()
    return run(
      Effect.gen(function* () {
        const gate = yield* Deferred.make<void>()
        state.answer = () => Effect.andThen(Deferred.await(gate), publishing(keySet("rsa-1"))())
        const set = yield* open
        const asked = yield* Effect.forkChild(set.refresh, { startImmediately: true })
        yield* TestClock.adjust("1999 millis")
        assert.isUndefined(asked.pollUnsafe())
        yield* TestClock.adjust("1 millis")
        assert.isDefined(asked.pollUnsafe())
        assert.isUndefined(ids(set))
        yield* Deferred.succeed(gate, undefined)
        yield* TestClock.adjust("1 millis")
        assert.deepStrictEqual([ids(set), state.fetches], [["rsa-1"], 1])
      })
    )
  })

  it.effect(
    "is fetched for the first who asks, and told as a call of theirs; nobody is told of what is fetched by itself",
    () => {
      const { state, publishing, run, open } = issuer()
      const told: Array<unknown> = []
      const watched = (whose: string) =>
        Effect.provideService(WatchCalls, ({ name, target }: OutboundCall): OutboundWatch => {
          told.push([whose, name, target])
          const ended: OutboundWatch["ended"] = (result) => told.push([whose, result])
          return { context: undefined, ended, outbound: () => assert.fail("there are no further calls") }
        })
      return run(
        Effect.gen(function* () {
          state.answer = publishing(keySet("rsa-1"))
          const set = yield* open
          yield* set.refresh
          yield* TestClock.adjust("31 seconds")
          state.answer = publishing(keySet("rsa-2"))
          yield* Effect.all([watched("first")(set.refresh), watched("second")(set.refresh)], { concurrency: 2 })
          assert.deepStrictEqual([state.fetches, ids(set)], [2, ["rsa-2"]])
          yield* TestClock.adjust("15 minutes")
          assert.strictEqual(state.fetches, 3)
          assert.deepStrictEqual(told, [
            ["first", "http", "issuer.example:443"],
            ["first", { status: 200, error: undefined }]
          ])
        })
      )
    }
  )

  it.effect("that is being fetched by itself is told of to those who wait for it", () => {
    const { state, publishing, run, open } = issuer()
    const told: Array<unknown> = []
    const watching = ({ name, target }: OutboundCall): OutboundWatch => {
      told.push([name, target])
      return {
        context: undefined,
        ended: (result) => told.push(result),
        outbound: () => assert.fail("no further calls")
      }
    }
    return run(
      Effect.gen(function* () {
        const gate = yield* Deferred.make<void>()
        state.answer = () => Effect.andThen(Deferred.await(gate), publishing(keySet("rsa-1"))())
        const set = yield* open
        const waiting = Effect.provideService(set.refresh, WatchCalls, watching)
        const impatient = yield* Effect.forkChild(waiting, { startImmediately: true })
        yield* TestClock.adjust("2 seconds")
        yield* Fiber.join(impatient)
        const patient = yield* Effect.forkChild(waiting, { startImmediately: true })
        yield* Deferred.succeed(gate, undefined)
        yield* Fiber.join(patient)
        assert.deepStrictEqual(told, [
          ["http", "issuer.example:443"],
          { status: undefined, error: "it is not there yet" },
          ["http", "issuer.example:443"],
          { status: 200, error: undefined }
        ])
        assert.strictEqual(state.fetches, 1)
      })
    )
  })

  it.effect("is shared by those who open it, and no longer fetched when the last has gone", () => {
    const { state, publishing, run, open } = issuer()
    return run(
      Effect.gen(function* () {
        state.answer = publishing(keySet("rsa-1"))
        const old = yield* Scope.make()
        const next = yield* Scope.make()
        yield* Scope.provide(open, old)
        const set = yield* Scope.provide(open, next)
        yield* set.refresh
        yield* Scope.close(old, Exit.void)
        yield* TestClock.adjust("15 minutes")
        assert.strictEqual(state.fetches, 2)
        yield* Scope.close(next, Exit.void)
        yield* TestClock.adjust("1 hour")
        assert.strictEqual(state.fetches, 2)
      })
    )
  })
})

describe("an inline key set", () => {
  it.effect("must be whole", () => {
    const { run } = issuer()
    return run(
      Effect.gen(function* () {
        const jwks = yield* Jwks
        assert.deepStrictEqual(ids(yield* jwks.open(keySet("ec-256"))), ["ec-256"])
        const broken = yield* Effect.flip(jwks.open(JSON.stringify({ keys: [{ kty: "oct", kid: "k" }, 1] })))
        assert.strictEqual(broken.message, "keys[0]: symmetric keys are not accepted; keys[1]: not a JSON Web Key")
      })
    )
  })
})

describe("a key set in a file", () => {
  const folder = Effect.acquireRelease(
    Effect.promise(() => mkdtemp(join(tmpdir(), "headgate-jwks-"))),
    (path) => Effect.promise(() => rm(path, { recursive: true }))
  )
  it.effect("must be there and whole when it is opened", () => {
    const { run } = issuer()
    return run(
      Effect.gen(function* () {
        const jwks = yield* Jwks
        const path = join(yield* folder, "jwks.json")
        const absent = yield* Effect.flip(jwks.open({ file: path }))
        assert.match(absent.message, /no such file/)
        yield* Effect.promise(() => writeFile(path, "{}"))
        const broken = yield* Effect.flip(jwks.open({ file: path }))
        assert.match(broken.message, /^expected a JSON Web Key Set/)
      })
    )
  })
})
