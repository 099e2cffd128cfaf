import { readFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { CelError } from "./expression.ts"
import { hostileBindings, hostileExpressions, hostileTexts, processorTime, readsText } from "./fixtures/hostile.ts"

const corpus = hostileExpressions(readFileSync(join(import.meta.dirname, "fixtures", "hostile.yaml"), "utf8"))
const texts = Object.entries(hostileTexts(2 * 1024 * 1024)).map(
  ([name, text]) => [name, hostileBindings(text)] as const
)

/**
 * Milliseconds that no noise of a machine reaches, and nothing misses that grows faster than its input: on 2 MiB that takes minutes. How
 * long the pauses really are, `bench/cel-pauses.ts` measures.
 */
const endless = 250

describe("no expression on no input of 2 MiB goes on for long", () => {
  let values = 0
  let evaluations = 0
  for (const [title, expressions] of Object.entries(corpus))
    it(title, () => {
      for (const expression of expressions)
        for (const [name, bindings] of readsText(expression) ? texts : texts.slice(0, 1)) {
          evaluations++
          const time = processorTime(() => {
            if (!(expression.evaluate(bindings) instanceof CelError)) values++
          })
          assert.isBelow(time, endless, `${expression.source} on ${name}`)
        }
    })

  it("and much of it has a value all the same: the limits are not what ends everything", () => {
    assert.isAtLeast(evaluations, 1_500)
    assert.isAtLeast(values / evaluations, 0.15)
  })
})
