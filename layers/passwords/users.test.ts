import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Fiber } from "effect"
import { PasswordQueue } from "./queue.ts"
import { type Check, Users } from "./users.ts"

const shown = (text: string): string => Buffer.from(text, "utf8").toString("base64")

/** Checks that answer when they are told to. */
const held = () => {
  const open: Array<{
    readonly password: string
    readonly hash: string
    readonly answer: (matches?: boolean) => void
  }> = []
  const left: Array<string> = []
  const check: Check = (password, hash, answer) => {
    open.push({ password, hash, answer })
    return () => void left.push(password)
  }
  return { open, left, check }
}

const hashes = new Map([
  ["ada", "hash of ada"],
  ["ben", "hash of ben"]
])

describe("users with passwords", () => {
  it.effect("are checked once, however many show the same meanwhile, and known afterwards", () =>
    Effect.gen(function* () {
      const { open, check } = held()
      const users = new Users(hashes, check)
      const asked = yield* Effect.forEach([1, 2, 3], () => Effect.forkChild(users.check(shown("ada:a:b"))))
      yield* Effect.yieldNow
      assert.deepStrictEqual(
        open.map(({ password, hash }) => [password, hash]),
        [["a:b", "hash of ada"]]
      )
      open[0]!.answer(true)
      for (const fiber of asked) assert.deepStrictEqual(yield* Fiber.join(fiber), { username: "ada" })
      assert.deepStrictEqual(users.known(shown("ada:a:b")), { username: "ada" })
      assert.strictEqual(users.known(shown("ada:a")), undefined)
    })
  )

  it.effect("a check that nobody waits for any more is left, and one that came to nothing is not remembered", () =>
    Effect.gen(function* () {
      const { open, left, check } = held()
      const users = new Users(hashes, check)
      const [one, other] = yield* Effect.forEach([1, 2], () => Effect.forkChild(users.check(shown("ada:x"))))
      yield* Effect.yieldNow
      yield* Fiber.interrupt(one!)
      assert.deepStrictEqual(left, [])
      yield* Fiber.interrupt(other!)
      assert.deepStrictEqual(left, ["x"])
      const third = yield* Effect.forkChild(users.check(shown("ada:x")))
      yield* Effect.yieldNow
      open[1]!.answer()
      assert.isTrue(Exit.isFailure(yield* Fiber.await(third)))
      assert.strictEqual(users.known(shown("ada:x")), undefined)
    })
  )

  it.effect(
    "a name that nobody has costs what a name costs: always the same of the hashes, of which all have their share",
    () =>
      Effect.gen(function* () {
        const against = new Map<string, Set<string>>()
        const users = new Users(hashes, (password, hash, answer) => {
          const name = password.split(" ")[0]!
          against.set(name, (against.get(name) ?? new Set()).add(hash))
          answer(true)
          return () => {}
        })
        for (let i = 0; i < 64; i++)
          for (const time of ["first", "second"])
            assert.isFalse(yield* users.check(shown(`nobody${i}:nobody${i} ${time}`)))
        assert.isTrue([...against.values()].every(({ size }) => size === 1))
        assert.strictEqual(new Set([...against.values()].flatMap((set) => [...set])).size, 2)
      })
  )

  it.effect("are not forgotten for those who guess", () =>
    Effect.gen(function* () {
      const users = new Users(hashes, (password, _, answer) => {
        answer(password === "right")
        return () => {}
      })
      yield* users.check(shown("ada:right"))
      for (let i = 0; i < 10_000; i++) yield* users.check(shown(`ada:${i}`))
      assert.deepStrictEqual(users.known(shown("ada:right")), { username: "ada" })
      assert.strictEqual(users.known(shown("ada:0")), undefined)
    })
  )
})

describe("the queue of passwords", () => {
  const hash = "$2y$04$EyDXYOAuclNpkfetSrked.P9Kml8AvmMCRvQ7MJ6aHTGbOMtUnTw2"

  it("is bounded, checks in a thread, and leaves out who has left", async () => {
    const queue = new PasswordQueue(() => {})
    const told: Array<readonly [number, boolean | undefined]> = []
    const answered = new Promise<void>((resolve) => {
      const leave = Array.from({ length: 140 }, (_, i) =>
        queue.check(i === 0 ? "x" : "y", hash, (matches) => {
          told.push([i, matches])
          if (i === 3) resolve()
        })
      )
      // The first one is with the thread, and 128 wait.
      assert.deepStrictEqual(
        told,
        Array.from({ length: 11 }, (_, i) => [129 + i, undefined])
      )
      for (const [i, each] of leave.entries()) if (i !== 3) each()
    })
    await answered
    assert.deepStrictEqual(told.slice(11), [
      [0, true],
      [3, false]
    ])
    await queue.end()
  })

  it("goes on with another thread when one has come to an end", async () => {
    const queue = new PasswordQueue(() => {})
    const first = new Promise((resolve) => queue.check("x", hash, resolve))
    const second = new Promise((resolve) => queue.check("x", hash, resolve))
    await queue.end()
    assert.strictEqual(await first, undefined)
    assert.strictEqual(await second, true)
    await queue.end()
  })
})
