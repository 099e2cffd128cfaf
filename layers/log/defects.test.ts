import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { contained, containedBy, containing } from "../../src/services/contained.ts"
import { containerOf } from "../../src/services/defects.ts"
import type { Fields } from "../../src/services/log.ts"
import { make as makeMetrics } from "../metrics/prometheus.ts"
import { defectCounter, makeDefects } from "./defects.ts"

const told = () => {
  const metrics = makeMetrics()
  const lines: Array<Fields & { readonly target: string }> = []
  const time = { now: 0 }
  const log = {
    enabled: () => true,
    log: (_: string, target: string, __: string, fields: Fields = {}) => void lines.push({ target, ...fields })
  }
  return { metrics, lines, time, tell: makeDefects(log, defectCounter(metrics), () => time.now) }
}

describe("defects", () => {
  it.effect("are counted, each of them, by place", () =>
    Effect.gen(function* () {
      const { metrics, tell } = told()
      for (let i = 0; i < 3; i++) tell("connection", new Error("bug"))
      tell("child", "not even an error")
      const { text } = yield* Effect.promise(() => metrics.scrape())
      assert.match(text, /^headgate_defects_total\{place="connection"\} 3$/m)
      assert.match(text, /^headgate_defects_total\{place="child"\} 1$/m)
    })
  )

  it("are told once a second at most, with how many were not", () => {
    const { lines, time, tell } = told()
    const seen: Array<readonly [target: string, untold: unknown]> = []
    for (let millis = 0; millis <= 2500; millis += 100) {
      time.now = millis
      tell(millis === 0 ? "connection" : "backend", new Error(`bug ${millis}`))
    }
    for (const line of lines) seen.push([line.target, line["defects.untold"]])
    assert.deepStrictEqual(seen, [
      ["connection", undefined],
      ["backend", 9],
      ["backend", 9]
    ])
    assert.match(String(lines[1]?.["error"]), /bug 1000/)
  })
})

describe("a callback that throws", () => {
  it("ends what it belongs to, and nothing else", () => {
    const seen: Array<unknown> = []
    const container = containerOf(
      (place, cause) => seen.push([place, cause]),
      "connection",
      () => seen.push("ended")
    )
    const failing = (text: string) => {
      throw text
    }
    contained(container, failing)("one")
    containing((_: typeof container, text: string) => failing(text))(container, "two")
    containedBy((text: string) => (text === "three" ? container : undefined), failing)("three")
    assert.deepStrictEqual(
      seen,
      ["one", "two", "three"].flatMap((text) => [["connection", text], "ended"])
    )
  })

  it("is told to the process when there is nobody else, or when the end fails, too", async () => {
    const warnings: Array<string> = []
    const heard = ({ message }: Error) => warnings.push(message)
    process.on("warning", heard)
    const failing = () => {
      throw new Error("callback")
    }
    containedBy(() => undefined, failing)()
    contained(
      containerOf(() => {
        throw new Error("telling")
      }, "child"),
      failing
    )()
    await new Promise((resolve) => setTimeout(resolve, 10))
    process.off("warning", heard)
    assert.deepStrictEqual(warnings, ["callback", "telling"])
  })
})
