import { assert, describe, it } from "@effect/vitest"
import { freshFor } from "./freshness.ts"
import { HeaderList } from "./header-list.ts"

const now = Date.parse("2026-01-01T00:00:00Z")

describe("freshness", () => {
  it.each<readonly [string, Array<string>, number | undefined]>([
    ["max-age", ["cache-control", "public, Max-Age=90"], 90_000],
    ["max-age in quotes", ["cache-control", 'max-age="5"'], 5000],
    ["max-age goes before expires", ["expires", "Thu, 01 Jan 2026 00:00:10 GMT", "cache-control", "max-age=1"], 1000],
    ["no-cache and no-store forbid", ["cache-control", "max-age=90", "cache-control", "no-cache"], undefined],
    ["no-store", ["cache-control", "no-store", "expires", "Thu, 01 Jan 2026 00:00:10 GMT"], undefined],
    ["expires", ["expires", "Thu, 01 Jan 2026 00:00:10 GMT"], 10_000],
    ["expired", ["expires", "Wed, 31 Dec 2025 23:59:59 GMT"], 0],
    ["no date has expired", ["expires", "0"], 0],
    ["a directive that is no number says nothing", ["cache-control", "max-age=soon"], undefined],
    ["nothing said", [], undefined]
  ])("%s", (_, headers, expected) => {
    assert.strictEqual(freshFor(new HeaderList(headers), now), expected)
  })
})
