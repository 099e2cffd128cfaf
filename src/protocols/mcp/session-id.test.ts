import { assert, describe, it } from "@effect/vitest"
import { Arbitrary, Schema } from "effect"
import { makeSessionIds, randomSessionKey, type SessionBinding, sessionKey } from "./session-id.ts"

const Name = Schema.String.check(Schema.isMaxCodePoints(20))
const state = Arbitrary.schema(
  Schema.Struct({
    targets: Schema.UndefinedOr(Schema.Array(Schema.Struct({ name: Name, session: Schema.UndefinedOr(Name) }))),
    owner: Name,
    version: Schema.UndefinedOr(Name)
  })
)
const binding = Arbitrary.schema(Schema.Struct({ backend: Name, listener: Name, principal: Name }))
const ids = makeSessionIds(new Uint8Array(32).fill(1))

describe("session ids", () => {
  it.prop("give back what they were made of, and are header-safe", [state, binding], ([state, binding]) => {
    const id = ids.encode(state, binding)
    assert.match(id, /^[A-Za-z0-9_-]+$/)
    assert.deepStrictEqual(ids.decode(id, binding), state)
  })

  it.prop(
    "are worth nothing after any change of one bit of their text",
    [state, binding, Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 1_000_000 }))],
    ([state, binding, seed]) => {
      const id = ids.encode(state, binding)
      const bit = seed % (id.length * 8)
      const at = bit >> 3
      const flipped = String.fromCharCode(id.charCodeAt(at) ^ (1 << (bit & 7)))
      assert.isUndefined(ids.decode(id.slice(0, at) + flipped + id.slice(at + 1), binding))
    },
    { arbitrary: { runs: 300 } }
  )

  it("every single bit of one id counts", () => {
    const here: SessionBinding = { backend: "b", listener: "l", principal: "p" }
    const id = ids.encode({ targets: [{ name: "a", session: "s" }], owner: "o", version: undefined }, here)
    for (let at = 0; at < id.length; at++)
      for (let bit = 0; bit < 8; bit++) {
        const flipped = String.fromCharCode(id.charCodeAt(at) ^ (1 << bit))
        assert.isUndefined(ids.decode(id.slice(0, at) + flipped + id.slice(at + 1), here), `${at}:${bit}`)
      }
  })

  it.prop(
    "are worth nothing at another backend or listener, or in other hands",
    [state, binding, binding],
    ([state, here, there]) => {
      const same = JSON.stringify(here) === JSON.stringify(there)
      const decoded = ids.decode(ids.encode(state, here), there)
      assert.deepStrictEqual(decoded, same ? state : undefined)
    }
  )

  it("the parts of a binding cannot be shifted into each other", () => {
    const id = ids.encode(
      { targets: [], owner: "", version: undefined },
      { backend: "ab", listener: "c", principal: "" }
    )
    assert.isUndefined(ids.decode(id, { backend: "a", listener: "bc", principal: "" }))
  })

  it("are worth nothing with another key, cut, extended, empty, or enormous", () => {
    const here = { backend: "b", listener: "l", principal: "p" }
    const id = ids.encode({ targets: undefined, owner: "o", version: undefined }, here)
    assert.isUndefined(makeSessionIds(randomSessionKey()).decode(id, here))
    for (const other of ["", "a", id.slice(0, -1), id.slice(1), `${id}A`, `${id}=`, ` ${id}`, "A".repeat(1_000_000)])
      assert.isUndefined(ids.decode(other, here), other.slice(0, 20))
  })

  it("of two sessions with the same state are different", () => {
    const here = { backend: "b", listener: "l", principal: "p" }
    const state = { targets: undefined, owner: "o", version: undefined }
    assert.notStrictEqual(ids.encode(state, here), ids.encode(state, here))
  })

  it("a key is 64 hexadecimal digits", () => {
    assert.deepStrictEqual(sessionKey(` ${"0a".repeat(32)}\n`)?.length, 32)
    for (const bad of ["", "0a", "zz".repeat(32), "0a".repeat(33)]) assert.isUndefined(sessionKey(bad))
  })
})
