import { Buffer } from "node:buffer"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect } from "effect"
import { type Body, BodyAborted, type BodySink, type BodySource } from "../../src/http/body.ts"
import { HeldBytes } from "../../src/http/held-bytes.ts"
import type { StageError } from "../../src/pipeline/stage.ts"
import { blockedEvent, failedGuardMessage, GuardWindow } from "../../src/protocols/llm/guard/window.ts"
import { StreamReader } from "../../src/protocols/llm/usage/stream.ts"
import { type Fork, GuardedStream, type Guarding, type Judge, type Judgement } from "./guarded-stream.ts"
import { ObservedStream } from "./observed-stream.ts"
import { GuardRejected, LlmFailed } from "./refused.ts"

/** An event with enough text for a judgement of its own. */
const event = (letter: string) =>
  Buffer.from(`data: ${JSON.stringify({ choices: [{ delta: { content: letter.repeat(1100) } }] })}\n\n`)

/** Decodes what passes. */
const observed = (source: Body) => new ObservedStream(source, "sse", new StreamReader("completions"), () => 0)

/** A source that is told when to push, and knows what it was asked for. */
class Provider implements BodySource {
  sink!: BodySink
  resumed = 0
  cancelled = 0
  start(sink: BodySink): void {
    this.sink = sink
  }
  resume(): void {
    this.resumed++
  }
  cancel(): void {
    this.cancelled++
  }
}

/** A client that takes chunks, and is slow when it is told to be. */
class Client implements BodySink {
  text = ""
  slow = false
  ended = 0
  readonly failures: Array<string> = []
  data(chunk: Uint8Array): boolean {
    this.text += Buffer.from(chunk).toString()
    return !this.slow
  }
  end(): void {
    this.ended++
  }
  fail(error: BodyAborted): void {
    this.failures.push(error.message)
  }
}

const fork: Fork = Effect.runFork
const guarding = (judge: Judge, told?: Guarding["told"], room = new HeldBytes()): Guarding => ({
  format: "completions",
  window: new GuardWindow("completions", 1 << 20),
  room,
  judge,
  fork,
  told
})

const unreadable = new LlmFailed({
  side: "response",
  status: 502,
  detail: "an event cannot be read",
  reason: "UpstreamFailure"
})
const refusal = (body: string) => new GuardRejected({ status: 403, body, headers: [] })

const gone = new BodyAborted({ source: "backend", detail: "reset" })

/** A stream under a guard whose verdicts come when the test gives them. */
const guarded = (room = new HeldBytes()) => {
  const verdicts: Array<Deferred.Deferred<StageError | undefined>> = []
  const given = { interrupted: 0 }
  const judge: Judge = (text) =>
    Effect.suspend((): Effect.Effect<StageError | undefined> => {
      if (text === undefined) return Effect.succeed(unreadable)
      const verdict = Deferred.makeUnsafe<StageError | undefined>()
      verdicts.push(verdict)
      return Effect.onInterrupt(Deferred.await(verdict), () => Effect.sync(() => given.interrupted++))
    })
  const provider = new Provider()
  const client = new Client()
  const told: Array<Judgement> = []
  const stream = new GuardedStream(
    observed(provider),
    guarding(judge, (judgement) => told.push(judgement), room)
  )
  stream.start(client)
  const say = (index: number, blocked?: string) =>
    Effect.andThen(
      Deferred.succeed(verdicts[index]!, blocked === undefined ? undefined : refusal(blocked)),
      Effect.promise(() => new Promise(setImmediate))
    )
  return { provider, client, stream, verdicts, given, told, say }
}

describe("a stream under guard", () => {
  it.effect("holds what is not judged, asks the provider to wait, and lets it go on afterwards", () =>
    Effect.gen(function* () {
      const { provider, client, stream, say } = guarded()
      assert.isFalse(provider.sink.data(event("a")))
      assert.strictEqual(client.text, "")
      stream.resume()
      assert.strictEqual(provider.resumed, 0, "while it is judged")
      yield* say(0)
      assert.strictEqual(client.text, String(event("a")))
      assert.strictEqual(provider.resumed, 1)
      assert.isTrue(provider.sink.data(Buffer.from(": too little to judge\n\n")))
    })
  )

  it.effect("a slow client holds back the provider until it takes more", () =>
    Effect.gen(function* () {
      const { provider, client, stream, say } = guarded()
      client.slow = true
      provider.sink.data(event("a"))
      yield* say(0)
      assert.strictEqual(client.text, String(event("a")))
      assert.strictEqual(provider.resumed, 0)
      assert.isFalse(provider.sink.data(Buffer.from(": more\n\n")))
      stream.resume()
      assert.strictEqual(provider.resumed, 1)
    })
  )

  it.effect("what came meanwhile is judged next, before the provider goes on", () =>
    Effect.gen(function* () {
      const { provider, client, verdicts, say } = guarded()
      provider.sink.data(event("a"))
      provider.sink.data(event("b"))
      assert.strictEqual(verdicts.length, 1)
      yield* say(0)
      assert.strictEqual(verdicts.length, 2)
      assert.strictEqual(provider.resumed, 0)
      assert.strictEqual(client.text, String(event("a")))
      yield* say(1)
      assert.strictEqual(client.text, `${event("a")}${event("b")}`)
      assert.strictEqual(provider.resumed, 1)
    })
  )

  it.effect("ends when the last judgement is there, once", () =>
    Effect.gen(function* () {
      const { provider, client, say } = guarded()
      provider.sink.data(event("a"))
      provider.sink.end()
      assert.strictEqual(client.ended, 0)
      yield* say(0)
      assert.strictEqual(client.text, String(event("a")))
      assert.strictEqual(client.ended, 1)
      provider.sink.end()
      assert.strictEqual(client.ended, 1)
      assert.isFalse(provider.sink.data(event("b")))
      assert.strictEqual(client.text, String(event("a")))
    })
  )

  it.effect("a judgement against it ends it with the reason, and nothing of the window goes", () =>
    Effect.gen(function* () {
      const { provider, client, say } = guarded()
      provider.sink.data(event("a"))
      yield* say(0, "no such talk")
      assert.strictEqual(client.text, blockedEvent("completions", "no such talk"))
      assert.strictEqual(client.ended, 1)
      assert.strictEqual(provider.cancelled, 1)
      assert.isFalse(provider.sink.data(event("b")))
      provider.sink.fail(new BodyAborted({ source: "backend", detail: "late" }))
      assert.deepStrictEqual(client.failures, [])
    })
  )

  it.effect("a guard that dies lets nothing pass", () =>
    Effect.gen(function* () {
      const client = new Client()
      const text = String(event("a"))
      const dying: Judge = () => Effect.die(new Error("broken"))
      new GuardedStream(observed(text), guarding(dying)).start(client)
      yield* Effect.promise(() => new Promise(setImmediate))
      assert.strictEqual(client.text, blockedEvent("completions", failedGuardMessage))
      assert.strictEqual(client.ended, 1)
    })
  )

  it("what cannot be read is blocked, and what is too long breaks off", () => {
    const { provider, client } = guarded()
    provider.sink.data(Buffer.from("data: no json\n\n"))
    assert.strictEqual(client.text, blockedEvent("completions", failedGuardMessage))
    assert.strictEqual(provider.cancelled, 1)

    const long = guarded()
    assert.isFalse(long.provider.sink.data(Buffer.from(`data: ${"x".repeat(2_097_153)}`)))
    assert.strictEqual(long.client.text, "")
    assert.strictEqual(long.client.failures.length, 1)
    assert.strictEqual(long.provider.cancelled, 1)
  })

  it.effect("a client that goes away ends the judgement and the provider", () =>
    Effect.gen(function* () {
      const { provider, client, stream, given, say } = guarded()
      provider.sink.data(event("a"))
      stream.cancel()
      assert.strictEqual(provider.cancelled, 1)
      yield* say(0)
      assert.strictEqual(given.interrupted, 1)
      assert.strictEqual(client.text, "")
      assert.strictEqual(client.ended, 0)
    })
  )

  it("a provider that breaks off is told once", () => {
    const { provider, client } = guarded()
    provider.sink.fail(gone)
    provider.sink.fail(gone)
    assert.deepStrictEqual(client.failures, ["body ended early: reset"])
  })

  it.effect(
    "what is held back counts against the budget of the process, and is judged at once where there is no room",
    () =>
      Effect.gen(function* () {
        const small = `data: {"choices":[{"delta":{"content":"a"}}]}\n\n`
        const room = new HeldBytes(small.length * 2)
        const { provider, client, stream, verdicts, say } = guarded(room)
        assert.isTrue(provider.sink.data(Buffer.from(small)))
        assert.isTrue(provider.sink.data(Buffer.from(small)))
        assert.strictEqual(room.held, small.length * 2)
        assert.isFalse(provider.sink.data(Buffer.from(small)))
        assert.strictEqual(verdicts.length, 1)
        yield* say(0)
        assert.strictEqual(client.text, small.repeat(3))
        assert.strictEqual(room.held, 0)
        assert.isTrue(provider.sink.data(Buffer.from(small)))
        assert.strictEqual(room.held, small.length)
        stream.cancel()
        assert.strictEqual(room.held, 0)
        for (const end of [(sink: BodySink) => sink.end(), (sink: BodySink) => sink.fail(gone)]) {
          const other = guarded(room)
          other.provider.sink.data(Buffer.from(small))
          end(other.provider.sink)
          assert.strictEqual(room.held, small.length)
          yield* other.say(0)
          assert.strictEqual(room.held, 0)
        }
        const refused = guarded(room)
        refused.provider.sink.data(event("a"))
        yield* refused.say(0, "no")
        assert.strictEqual(room.held, 0)
      })
  )

  it("without a text there is nothing to judge, and the end comes at once", () => {
    const client = new Client()
    const never: Judge = () => Effect.die(new Error("there is nothing to judge"))
    new GuardedStream(observed(Buffer.from("data: [DONE]\n\n")), guarding(never)).start(client)
    assert.strictEqual(client.text, "data: [DONE]\n\n")
    assert.strictEqual(client.ended, 1)
    const empty = new Client()
    new GuardedStream(observed(undefined), guarding(never)).start(empty)
    assert.deepStrictEqual([empty.text, empty.ended], ["", 1])
  })
})
