import { readFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Decimal } from "decimal.js"
import { Arbitrary, Result, Schema } from "effect"
import { parse } from "yaml"
import { type Usage, usageFrom } from "../usage/usage.ts"
import { compileCatalog, rateNames } from "./catalog.ts"
import { type CatalogModel, decodeCatalog, ModelCatalog } from "./catalog-schema.ts"
import { Ledger } from "./ledger.ts"
import { catalogFromModelsDev } from "./models-dev.ts"
import { type Priced, price } from "./price.ts"
import { formatRate, formatUsd, parseRate, toUsd } from "./usd.ts"

const usageOf = ({ cacheInInput, ...counts }: Partial<Usage>): Usage =>
  usageFrom(counts, cacheInInput ?? true, undefined)
const catalogOf = (model: CatalogModel) => compileCatalog([{ providers: { p: { models: { m: model } } } }])
const lines = (priced: Priced) =>
  priced.status === "Exact"
    ? Object.fromEntries(
        Object.entries(priced.cost).flatMap(([name, amount]) => (amount === 0n ? [] : [[name, formatUsd(amount)]]))
      )
    : undefined

const n = (maximum: number) => Schema.Int.check(Schema.isBetween({ minimum: 0, maximum }))
const rate = Arbitrary.map(
  Arbitrary.all({
    whole: Arbitrary.schema(n(200)),
    fraction: Arbitrary.schema(n(999_999)),
    digits: Arbitrary.schema(n(6))
  }),
  ({ whole, fraction, digits }) =>
    digits === 0 ? `${whole}` : `${whole}.${`${fraction}`.padStart(6, "0").slice(0, digits)}`
)
const rates = Arbitrary.map(
  Arbitrary.array(rate, { minLength: 7, maxLength: 7 }),
  (values) => (mask: number) =>
    Object.fromEntries(rateNames.flatMap((name, i) => ((mask >> i) & 1 ? [[name, values[i]!]] : [])))
)
const usage = Arbitrary.map(
  Arbitrary.schema(
    Schema.Struct({
      input: Schema.UndefinedOr(n(5_000_000)),
      output: Schema.UndefinedOr(n(500_000)),
      cacheRead: Schema.UndefinedOr(n(900_000)),
      cacheWrite: Schema.UndefinedOr(n(900_000)),
      reasoning: Schema.UndefinedOr(n(90_000)),
      inputAudio: Schema.UndefinedOr(n(90_000)),
      outputAudio: Schema.UndefinedOr(n(90_000)),
      cacheInInput: Schema.Boolean
    })
  ),
  usageOf
)

describe("worked prices", () => {
  interface Golden {
    readonly name: string
    readonly rates?: CatalogModel["rates"]
    readonly tiers?: CatalogModel["tiers"]
    readonly usage: Partial<Usage>
    readonly cost?: Record<string, string>
    readonly status?: string
  }
  const golden: ReadonlyArray<Golden> = parse(readFileSync(join(import.meta.dirname, "prices.yaml"), "utf8"))
  for (const { name, rates, tiers, usage, cost, status = "Exact" } of golden)
    it(name, () => {
      const model = { ...(rates && { rates }), ...(tiers && { tiers }) }
      assert.isTrue(Result.isSuccess(decodeCatalog({ providers: { p: { models: { m: model } } } })))
      const priced = price(catalogOf(model), "p", undefined, "m", usageOf(usage))
      assert.strictEqual(priced.status, status)
      assert.deepStrictEqual(lines(priced), cost)
    })
})

describe("lookup", () => {
  const some = usageOf({ input: 1 })
  it("the answering model first, then the requested one, by exact name", () => {
    const catalog = compileCatalog([
      { providers: { p: { models: { a: { rates: { input: "1" } }, b: { rates: { input: "2" } }, empty: {} } } } }
    ])
    const input = (response: string | undefined, request: string) =>
      lines(price(catalog, "p", response, request, some))?.["input"]
    assert.strictEqual(input("a", "b"), "0.000001")
    assert.strictEqual(input("a-2024", "b"), "0.000002")
    assert.strictEqual(input(undefined, "b"), "0.000002")
    assert.strictEqual(price(catalog, "p", "A", "B", some).status, "Missing")
    assert.strictEqual(price(catalog, "q", "a", "b", some).status, "Missing")
    assert.strictEqual(price(catalog, "p", "constructor", "__proto__", some).status, "Missing")
    assert.strictEqual(price(catalog, "p", "empty", "b", some).status, "Unpriced")
    assert.strictEqual(price(undefined, "p", "a", "b", some).status, "NoCatalog")
  })

  it("later sources lie over earlier ones", () => {
    const source = (model: CatalogModel): ModelCatalog => ({ providers: { p: { models: { m: model } } } })
    const catalog = compileCatalog([
      source({ rates: { input: "1", output: "2" }, tiers: [{ contextOver: 1, rates: { input: "9" } }], tags: ["a"] }),
      source({ rates: { output: "3" }, tiers: [], tags: ["b", "a"] })
    ])
    const model = catalog.find("p", "m")
    assert.deepStrictEqual(model?.tags, ["a", "b"])
    assert.deepStrictEqual(
      model?.levels.map(({ over, rates }) => [over, rates.input, rates.output]),
      [
        [-1, 1_000_000n, 3_000_000n],
        [1, 9_000_000n, 3_000_000n]
      ]
    )
  })
})

describe("catalogue schema", () => {
  const wrap = (model: unknown) => ({ providers: { p: { models: { m: model } } } })
  it.each([
    ["a rate that is a number", wrap({ rates: { input: 1 } })],
    ["a negative rate", wrap({ rates: { input: "-1" } })],
    ["seven fraction digits", wrap({ rates: { input: "0.0000001" } })],
    ["an exponent", wrap({ rates: { input: "1e3" } })],
    ["an unknown rate", wrap({ rates: { image: "1" } })],
    ["an unknown field", wrap({ price: {} })],
    [
      "tiers that do not increase",
      wrap({
        tiers: [
          { contextOver: 5, rates: {} },
          { contextOver: 5, rates: {} }
        ]
      })
    ],
    ["no providers", {}],
    ["no object", []]
  ])("refuses %s", (_, json) => {
    const result = decodeCatalog(json)
    assert.isTrue(Result.isFailure(result) && result.failure.length > 0)
  })

  it.prop(
    "every catalogue decodes from its own JSON and compiles",
    { catalog: ModelCatalog },
    ({ catalog }) => {
      const again = decodeCatalog(JSON.parse(JSON.stringify(catalog)))
      assert.isTrue(Result.isSuccess(again))
      compileCatalog([catalog, catalog])
    },
    { arbitrary: { runs: 60 } }
  )
})

describe("arithmetic", () => {
  // As good as unlimited: the library's default of 20 digits would round.
  const D = Decimal.clone({ precision: 1000 })

  it.prop("rates and amounts survive text", { rate, amount: Schema.BigInt }, ({ rate, amount }) => {
    assert.isTrue(new D(formatRate(parseRate(rate))).equals(rate))
    assert.strictEqual(new D(formatUsd(amount)).times(1e12).toFixed(0), amount === 0n ? "0" : amount.toString())
    assert.closeTo(toUsd(parseRate(rate)) * 1e6, Number(rate), 1e-9)
  })

  // The same rules written the other way round, line by line.
  const oracle = (rates: Partial<Record<string, string>>, u: Usage): string => {
    const per = (tokens: number, rate: string | undefined) => new D(Math.max(0, tokens)).times(rate ?? "0").div(1e6)
    const r = u.cacheRead ?? 0
    const w = u.cacheWrite ?? 0
    const inner = u.cacheInInput
    let input = Math.max(0, (u.input ?? 0) - (u.inputAudio ?? 0))
    if (inner && rates["cacheRead"] !== undefined) input = Math.max(0, input - r)
    if (inner && rates["cacheWrite"] !== undefined) input = Math.max(0, input - w)
    if (!inner && rates["cacheRead"] === undefined) input += r
    if (!inner && rates["cacheWrite"] === undefined) input += w
    return per(input, rates["input"])
      .plus(per(r, rates["cacheRead"]))
      .plus(per(w, rates["cacheWrite"]))
      .plus(per((u.output ?? 0) - (u.reasoning ?? 0) - (u.outputAudio ?? 0), rates["output"]))
      .plus(per(u.reasoning ?? 0, rates["reasoning"] ?? rates["output"]))
      .plus(per(u.inputAudio ?? 0, rates["inputAudio"] ?? rates["input"]))
      .plus(per(u.outputAudio ?? 0, rates["outputAudio"] ?? rates["output"]))
      .toFixed()
  }
  it.prop(
    "agrees with decimal arithmetic to the last digit, and the total is the sum of the lines",
    { rates, mask: n(127), usage },
    ({ rates, mask, usage }) => {
      const chosen = rates(mask)
      const priced = price(catalogOf({ rates: chosen }), "p", undefined, "m", usage)
      if (priced.status !== "Exact") return assert.strictEqual(mask, 0)
      assert.strictEqual(new D(formatUsd(priced.cost.total)).toFixed(), oracle(chosen, usage))
      const { total, ...parts } = priced.cost
      assert.strictEqual(
        Object.values(parts).reduce((sum, part) => sum + part, 0n),
        total
      )
    },
    { arbitrary: { runs: 300 } }
  )
})

describe("ledger", () => {
  // A history: requests with attempts, each fed usage, settled once, twice or only when the request is dropped, in any interleaving.
  const step = Schema.Struct({
    request: n(4),
    action: Schema.Literals(["attempt", "usage", "settle", "settleAll"]),
    which: n(3),
    tokens: n(1_000_000),
    priced: Schema.Boolean
  })
  const catalog = catalogOf({ rates: { input: "0.333333", output: "7.000001" } })

  it.prop(
    "the counter is the sum of the requests at every moment",
    { steps: Schema.Array(step) },
    ({ steps }) => {
      const ledger = new Ledger()
      const requests = Array.from({ length: 5 }, () => {
        const account = ledger.open()
        return {
          account,
          attempts: [] as Array<{
            attempt: ReturnType<typeof account.attempt>
            open: boolean
            last: Usage | undefined
            priced: boolean
          }>
        }
      })
      // The books kept the naive way.
      let expected = 0n
      for (const { request, action, which, tokens, priced } of steps) {
        const { account, attempts } = requests[request]!
        const model = (known: boolean) => (u: Usage) => price(catalog, "p", undefined, known ? "m" : "other", u)
        const settle = (entry: (typeof attempts)[number]) => {
          const settled = entry.attempt.settle()
          assert.strictEqual(settled !== undefined, entry.open)
          assert.strictEqual(settled?.usage, entry.open ? entry.last : undefined)
          if (entry.open && entry.last !== undefined && entry.priced)
            expected += BigInt(entry.last.input!) * 333_333n + BigInt(entry.last.output!) * 7_000_001n
          entry.open = false
        }
        const chosen = attempts[which % Math.max(1, attempts.length)]
        if (action === "attempt")
          attempts.push({ attempt: account.attempt(model(priced)), open: true, last: undefined, priced })
        else if (action === "settleAll") attempts.forEach(settle)
        else if (chosen === undefined) continue
        else if (action === "settle") settle(chosen)
        else {
          const seen = usageOf({ input: tokens, output: which })
          chosen.attempt.observe(seen)
          if (chosen.open) chosen.last = seen
        }
        assert.strictEqual(
          requests.reduce((sum, r) => sum + r.account.cost, 0n),
          ledger.total
        )
        assert.strictEqual(ledger.total, expected)
      }
    },
    { arbitrary: { runs: 200, size: 60 } }
  )
})

describe("models.dev", () => {
  it("becomes a catalogue: ids renamed, deprecated and free-form parts left out, rates rounded", () => {
    const catalog = catalogFromModelsDev({
      "amazon-bedrock": {
        models: {
          a: {
            cost: {
              input: 0.1,
              output: 3,
              cache_read: 0.0000004,
              cache_write: 1.25,
              tiers: [
                { tier: { type: "context", size: 200_000 }, input: 2 },
                { tier: { type: "time", size: 1 }, input: 9 }
              ]
            }
          }
        }
      },
      google: {
        models: {
          old: { status: "deprecated", cost: { input: 1 } },
          none: {},
          b: { cost: { input: 0, output_audio: 20, reasoning: -1 } }
        }
      },
      mistral: { models: { c: { cost: { input: 1e-7 } } } },
      empty: { models: {} },
      odd: 7
    })
    assert.deepStrictEqual(catalog, {
      providers: {
        "aws.bedrock": {
          models: {
            a: {
              rates: { input: "0.1", output: "3", cacheRead: "0", cacheWrite: "1.25" },
              tiers: [{ contextOver: 200_000, rates: { input: "2" } }]
            }
          }
        },
        "gcp.gemini": { models: { b: { rates: { input: "0", outputAudio: "20" } } } },
        mistral: { models: { c: { rates: { input: "0" } } } }
      }
    })
  })

  it.prop(
    "whatever the list is, the result is a valid catalogue",
    { list: Schema.Json, model: Schema.Json },
    ({ list, model }) => {
      for (const source of [
        list,
        { x: { models: { m: model, n: { cost: model }, o: { cost: { tiers: [model, { tier: model }] } } } } }
      ])
        assert.isTrue(Result.isSuccess(decodeCatalog(JSON.parse(JSON.stringify(catalogFromModelsDev(source))))))
    }
  )
})
