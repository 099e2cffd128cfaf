import { Buffer } from "node:buffer"
import { assert, describe, it } from "@effect/vitest"
import * as Result from "effect/Result"
import type { Step } from "../../spec/explanation.ts"
import { CelError, compile, explain, isUnreadable, parseFunctions } from "./expression.ts"
import { expression, Random, variables } from "./fixtures/generate.ts"

const functions = Result.getOrThrow(
  parseFunctions(
    "second(first, second) { second }\nlast(all...) { true }\nthis.or_else(other) { default(this, other) }"
  )
)

/** A variable that is text and no number. */
const extra = { ...variables, noNumber: "seven" }

/** Everything that might go on without a part that failed, around parts of which some cannot be read. */
const absorbing = (random: Random, depth: number): string => {
  const part = () => absorbing(random, depth - 1)
  if (depth === 0)
    return random.next() < 0.3
      ? random.pick(["int(noNumber) > 0", "i / 0 > 1", "m.nope"])
      : expression(random, "bool", 1)
  return random.pick([
    () => `(${part()} || ${part()})`,
    () => `(${part()} && ${part()})`,
    () => `(${part()} || ${part()} || ${part()})`,
    () => `(${part()} && ${part()} && ${part()})`,
    () => `(${part()} ? ${part()} : ${part()})`,
    () => `!(${part()})`,
    () => `coalesce(${part()}, ${part()})`,
    () => `default(${part()}, ${part()})`,
    () => `l.exists(x, ${part()})`,
    () => `l.all(x, ${part()})`,
    () => `l.exists_one(x, ${part()})`,
    () => `(l.filter(x, ${part()}) == l)`,
    () => `l.map(x, ${part()}).exists(x, x)`,
    () => `optional.of(${part()}).orValue(${part()})`,
    () => `optional.of(1).optMap(x, ${part()}).orValue(${part()})`,
    () => `cel.bind(y, ${part()}, ${part()})`,
    () => `{"k": ${part()}}[?"z"].orValue(${part()})`,
    () => `(has({"k": ${part()}}.k) && ${part()})`,
    () => `second(${part()}, ${part()})`,
    () => `last(${part()}, ${part()})`,
    () => `(${part()}).or_else(${part()})`,
    () => `(${part()} in [${part()}])`
  ])()
}

const failed = ({ outcome, parts }: Step): boolean =>
  (outcome.kind === "error" && isUnreadable(outcome)) || parts.some(failed)

describe("expressions that decide", () => {
  it("are unreadable where any part of them was, and what they evaluate to where none was", () => {
    const seen = { absorbed: 0, unreadable: 0, readable: 0 }
    for (let seed = 1; seed <= 4_000; seed++) {
      const source = absorbing(new Random(seed), 3)
      const compiled = compile(source, { phase: "log", extra: Object.keys(extra), functions })
      // Some of what is generated is seen not to fit when it is compiled.
      if (Result.isFailure(compiled)) continue
      const bindings = { extra }
      const evaluated = compiled.success.evaluate(bindings)
      const decided = compiled.success.decide(bindings)
      const explained = explain(compiled.success, bindings, { deciding: true })
      const unreadable = decided instanceof CelError && isUnreadable(decided)
      // Of what runs in a loop the explanation has the last turn only.
      const told = explained.steps.some(failed)
      if (told) assert.isTrue(unreadable, `seed ${seed}: ${source}`)
      if (!unreadable) assert.deepStrictEqual(decided, evaluated, `seed ${seed}: ${source}`)
      assert.strictEqual(explained.outcome.kind === "error" && isUnreadable(explained.outcome), unreadable, source)
      seen[unreadable ? "unreadable" : "readable"]++
      if (unreadable && !(evaluated instanceof CelError && isUnreadable(evaluated))) seen.absorbed++
    }
    for (const [kind, count] of Object.entries(seen)) assert.isAbove(count, 200, kind)
  })

  const decided = (text: string) => {
    const compiled = Result.getOrThrow(compile('json(request.body).cmd == "rm"', { phase: "route" }))
    const value = compiled.decide({ request: { body: new Uint8Array(Buffer.from(text)) } })
    return value instanceof CelError ? value.code : value
  }

  it("are not misled by what the engine's parser remembers of names with a backslash", () => {
    // Once it has met the first text, it takes the name in the second one for `cm\\`: nodejs/node#63785.
    for (const [before, text, expected] of [
      ['{"c":1,"cm\\\\":1}', '{"c":1,"cm\\u0064":"rm"}', true],
      ['{"d":1,"x":{"cm\\\\":1}}', '{"d":1,"cmd":"ls","x":{"cm\\u0064":"rm"}}', false],
      ['{"e":1,"cm\\\\":1}', '{"e":1,"cm\\u0064":"rm","cmd":"ls"}', "unreadable"],
      ['{"f":1,"a\\\\q":1}', '{"f":1,"a\\qx":1,"cmd":"ls"}', "unreadable"],
      ['{"g":1,"\\\\":1}', '{"g":1,"\\"":[true,{"a":[]},null,-1.5e3," ]}"],"cmd":"rm"}', true]
    ] as const) {
      JSON.parse(before)
      assert.strictEqual(decided(text), expected, text)
    }
  })

  it("read a text with names that have a backslash as any other", () => {
    const values = [
      "1",
      "-0.5e-3",
      '"\\\\"',
      '"\\"]}"',
      "[]",
      "[1,[2]]",
      "{}",
      '{"\\\\":[{}]}',
      "true",
      "null",
      '"\\u00e9"'
    ]
    const names = ["\\\\", "a\\\\", "\\u005cb", '\\"', "c", "\\n", "__proto__"]
    for (let seed = 1; seed <= 500; seed++) {
      const random = new Random(seed)
      const used = new Set(["\\\\", "cmd"])
      const blank = () => random.pick(["", "", " ", "\n\t"])
      const members = Array.from({ length: random.below(6) }, () => random.pick(names))
        .filter((name) => !used.has(name) && used.add(name))
        .map((name) => `${blank()}"${name}"${blank()}:${blank()}${random.pick(values)}${blank()}`)
      const command = random.pick(["rm", "ls"])
      const text = `{${[`"\\\\":1`, ...members, `"cmd":"${command}"`].join(",")}}`
      assert.strictEqual(decided(text), command === "rm", text)
      assert.strictEqual(decided(`${text.slice(0, -1)},"cm\\u0064":"ls"}`), "unreadable", text)
    }
  })
})
