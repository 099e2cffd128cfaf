import { assert, describe, it } from "@effect/vitest"
import { Arbitrary, Effect, Schema } from "effect"
import { Counter, Gauge, Histogram, Registry } from "prom-client"
import { make } from "./prometheus.ts"

const Update = Schema.Struct({
  family: Schema.Literals(["counter", "gauge", "histogram"]),
  a: Schema.Literals(["x", 'quote " back \\ slash', "line\nbreak"]),
  b: Schema.Literals(["1", "2"]),
  value: Schema.Literals([0, 0.5, 1, 3, 1000])
})

/** The samples of a scrape, without comments and order. */
const samples = (text: string) =>
  text
    .split("\n")
    .filter((line) => line !== "" && !line.startsWith("#"))
    // The other library puts the bound first; the order of labels means nothing.
    .map((line) =>
      line.replace(
        /\{(.*)\}/,
        (_, labels: string) =>
          `{${labels
            .match(/\w+="(?:[^"\\]|\\.)*"/g)!
            .sort()
            .join(",")}}`
      )
    )
    .sort()

describe("metrics", () => {
  it.effect.prop(
    "a scrape says what another library says of the same updates",
    [Arbitrary.array(Arbitrary.schema(Update), { maxLength: 20 })],
    ([updates]) =>
      Effect.gen(function* () {
        const ours = make()
        const registers = [new Registry()]
        const common = { help: "h", labelNames: ["a", "b"], registers }
        const counter = new Counter({ ...common, name: "headgate_c_total" })
        const gauge = new Gauge({ ...common, name: "headgate_g" })
        const histogram = new Histogram({ ...common, name: "headgate_h", buckets: [0.5, 1, 10] })
        for (const { family, a, b, value } of updates) {
          if (family === "counter") {
            counter.labels(a, b).inc(value)
            ours.counter("c_total", "h", ["a", "b"]).series([a, b]).record(value)
          } else if (family === "gauge") {
            gauge.labels(a, b).set(value)
            ours.gauge("g", "h", ["a", "b"]).series([a, b]).record(value)
          } else {
            histogram.labels(a, b).observe(value)
            ours.histogram("h", "h", ["a", "b"], [0.5, 1, 10]).series([a, b]).record(value)
          }
        }
        const theirs = yield* Effect.promise(() => registers[0]!.metrics())
        assert.deepStrictEqual(samples((yield* Effect.promise(() => ours.scrape())).text), samples(theirs))
      })
  )

  it.effect("a family is found by its name, and a removed one counts nothing, however it is spelled", () =>
    Effect.gen(function* () {
      const metrics = make()
      metrics.counter("early_total", "h", []).series([]).record(1)
      metrics.remove(["headgate_gone", "early"])
      metrics.counter("gone_total", "h", []).series([]).record(1)
      metrics.counter("here_total", "h", []).series([]).record(1)
      metrics.counter("here_total", "h", []).series([]).record(1)
      assert.deepStrictEqual(samples((yield* Effect.promise(() => metrics.scrape())).text), ["headgate_here_total 2"])
    })
  )

  it.effect("an unset label is unknown, and what is gathered is asked for at each scrape", () =>
    Effect.gen(function* () {
      const metrics = make()
      let asked = 0
      metrics.gathered("g", "h", "gauge", ["l"], () => [{ labels: { l: "v" }, value: ++asked }])
      metrics.gauge("u", "h", ["l"]).series([undefined]).record(1)
      yield* Effect.promise(() => metrics.scrape())
      const { text } = yield* Effect.promise(() => metrics.scrape())
      assert.deepStrictEqual(samples(text), ['headgate_g{l="v"} 2', 'headgate_u{l="unknown"} 1'])
    })
  )
})
