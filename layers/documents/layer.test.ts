import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Layer, Result, Scope } from "effect"
import { TestClock } from "effect/testing"
import { HeaderList } from "../../src/http/header-list.ts"
import { type DocumentCall, type DocumentKind, Documents } from "../../src/services/documents.ts"
import { FetchFailed, HttpFetch } from "../../src/services/http-fetch.ts"
import { Log } from "../../src/services/log.ts"
import * as ConsoleLog from "../log/console.ts"
import { layer } from "./layer.ts"

const texts: DocumentKind<string> = {
  name: "text",
  target: "texts",
  accept: "text/plain",
  maxBytes: 100,
  lifetime: 60_000,
  read: (value) => Result.succeed({ value, warnings: [] })
}
const url = "https://server.example/text"

/** Who fetched, in order, and calls that say who they are. */
const calls = () => {
  const made: Array<string> = []
  const by =
    (name: string): DocumentCall["fetch"] =>
    () =>
      Effect.sync(() => {
        made.push(name)
        return { status: 200, headers: new HeaderList(), body: new TextEncoder().encode(name) }
      })
  const log = ConsoleLog.make({ filter: "off", format: "text", write: () => {}, now: () => 0 })
  const services = Layer.provide(
    layer,
    Layer.merge(Layer.succeed(HttpFetch, { fetch: by("nobody") }), Layer.succeed(Log, log))
  )
  return { made, services, call: (identity: string, name: string): DocumentCall => ({ identity, fetch: by(name) }) }
}

describe("documents with calls of their own", () => {
  it.effect("are fetched by whoever opened them last and has them open still, and never without their call", () => {
    const { made, services, call } = calls()
    return Effect.gen(function* () {
      const { open } = yield* Documents
      const [first, second, refused] = [yield* Scope.make(), yield* Scope.make(), yield* Scope.make()]
      const opened = (scope: Scope.Scope, name: string) => Scope.provide(open(texts, url, call("a", name)), scope)
      const document = yield* opened(first, "first")
      yield* document.refresh
      assert.strictEqual(document.current(), "first")
      // A configuration that comes to nothing is open for a moment.
      yield* opened(refused, "refused")
      yield* Scope.close(refused, Exit.void)
      yield* TestClock.adjust("1 minute")
      const same = yield* opened(second, "second")
      assert.strictEqual(same, document)
      yield* TestClock.adjust("1 minute")
      yield* Scope.close(first, Exit.void)
      yield* TestClock.adjust("1 minute")
      yield* Scope.close(second, Exit.void)
      yield* TestClock.adjust("10 minutes")
      assert.deepStrictEqual(made, ["first", "first", "second", "second"])
    }).pipe(Effect.provide(services, { local: true }))
  })

  it.effect("are others than those at the same address with other calls, and with none", () => {
    const { services, call } = calls()
    return Effect.gen(function* () {
      const { open } = yield* Documents
      const found = []
      for (const one of [call("a", "a"), call("b", "b"), undefined]) {
        const document = yield* open(texts, url, one)
        yield* document.refresh
        found.push(document.current())
      }
      assert.deepStrictEqual(found, ["a", "b", "nobody"])
    }).pipe(Effect.provide(services, { local: true }))
  })

  it.effect("keep their text when their call fails", () => {
    const { services, call } = calls()
    return Effect.gen(function* () {
      const { open } = yield* Documents
      const document = yield* open(texts, url, call("a", "a"))
      yield* document.refresh
      yield* open(texts, url, {
        identity: "a",
        fetch: () => Effect.fail(new FetchFailed({ url, detail: "refused" }))
      })
      yield* TestClock.adjust("1 minute")
      assert.strictEqual(document.current(), "a")
    }).pipe(Effect.provide(services, { local: true }))
  })
})
