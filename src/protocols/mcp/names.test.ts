import { assert, describe, it } from "@effect/vitest"
import { Arbitrary, Schema } from "effect"
import { isTargetName } from "./config.ts"
import { namingOf, prefixedName, prefixedTask, prefixedUri, splitName, splitTask, splitUri } from "./names.ts"
import { unwrapId, wrapId } from "./request-id.ts"

const target = Arbitrary.schema(
  Schema.String.check(Schema.isPattern(/^[a-z0-9]([-a-z0-9]{0,8}[a-z0-9])?(\.[a-z0-9]{1,4})?$/u))
)

describe("names in a federation", () => {
  it.prop("names and tasks come back from their prefixed form", [target, Schema.String], ([target, name]) => {
    assert.isTrue(isTargetName(target))
    assert.deepStrictEqual(splitName(prefixedName(target, name)), { target, name })
    assert.deepStrictEqual(splitTask(prefixedTask(target, name)), { target, name })
  })

  it.prop(
    "absolute URIs come back from their prefixed form, in every scheme",
    [target, Schema.Literals(["http://", "memo:", "urn:a:", "git+ssh://", "ui://", "UI://", "test://"]), Schema.String],
    ([target, scheme, rest]) => {
      const uri = scheme + rest
      assert.deepStrictEqual(splitUri(prefixedUri(target, uri)), { target, name: uri })
    }
  )

  it("relative URIs stay as they are", () => {
    assert.strictEqual(prefixedUri("a", "docs/readme.md"), "docs/readme.md")
    assert.isUndefined(splitUri("docs/readme.md"))
  })

  it("the delimiter of an app URI belongs to its authority", () => {
    assert.strictEqual(prefixedUri("a", "ui://widget/main"), "ui://a+widget/main")
    for (const uri of ["ui://widget/a+b", "ui://widget?x=a+b", "ui://widget#a+b", "a+ui://widget", "ui://+widget"])
      assert.isUndefined(splitUri(uri), uri)
  })

  it("a name without a delimiter, or with nothing before it, tells no target", () => {
    for (const name of ["echo", "_echo", ""]) assert.isUndefined(splitName(name), name)
    for (const task of ["1", "+1", ""]) assert.isUndefined(splitTask(task), task)
  })

  it("target names are DNS names without delimiters", () => {
    for (const good of ["a", "a-b", "a.b.c", "0", "x".repeat(253)]) assert.isTrue(isTargetName(good), good)
    for (const bad of ["", "a_b", "a+b", "A", "-a", "a-", "a..b", ".a", "a b", "x".repeat(254)])
      assert.isFalse(isTargetName(bad), bad)
  })

  it("one target is passed through unless prefixes are forced; none and several are a federation", () => {
    const of = (count: number, prefixMode: "conditional" | "always" | "never") =>
      namingOf({ targets: Array.from({ length: count }) as never, prefixMode })
    assert.deepStrictEqual(of(1, "conditional"), { multiplexing: false, passThrough: true, namesPrefixed: false })
    assert.deepStrictEqual(of(1, "never"), { multiplexing: false, passThrough: true, namesPrefixed: false })
    assert.deepStrictEqual(of(1, "always"), { multiplexing: false, passThrough: false, namesPrefixed: true })
    assert.deepStrictEqual(of(2, "conditional"), { multiplexing: true, passThrough: false, namesPrefixed: true })
    assert.deepStrictEqual(of(2, "never"), { multiplexing: true, passThrough: false, namesPrefixed: false })
    assert.deepStrictEqual(of(0, "never"), { multiplexing: true, passThrough: false, namesPrefixed: false })
  })
})

describe("ids of targets' requests", () => {
  it.prop(
    "come back with target, type and digits",
    [target, Schema.Union([Schema.String, Schema.Int])],
    ([target, id]) => {
      const text = JSON.stringify(id)
      assert.deepStrictEqual(unwrapId(wrapId(target, id, text)), { target, id: text })
    }
  )

  it("keep digits that a number cannot hold", () => {
    assert.deepStrictEqual(unwrapId(wrapId("a", 1, "12345678901234567890")), {
      target: "a",
      id: "12345678901234567890"
    })
  })

  it("an id that was never wrapped is none", () => {
    for (const id of [
      7,
      "7",
      "hg_",
      "hg_a",
      "hg_a_",
      "hg__n_1",
      "hg_a_x_1",
      "hg_a_n_",
      "hg_a_n_1x",
      "hg_a_n_01",
      "hg_a_n1"
    ])
      assert.isUndefined(unwrapId(id), String(id))
  })
})
