import { assert, describe, it } from "@effect/vitest"
import { Arbitrary, Schema } from "effect"
import { packOutline, unpackOutline } from "./packed-outline.ts"

const Numbers = Arbitrary.array(
  Arbitrary.schema(Schema.Int.check(Schema.isBetween({ minimum: -(2 ** 31), maximum: 2 ** 31 - 1 })))
)

describe("a packed outline", () => {
  it.prop("unpacks to what it was", [Numbers, Numbers], ([values, pieces]) => {
    const outline = {
      values: Int32Array.from(values),
      pieces: Int32Array.from(pieces),
      names: ["a"],
      disguises: new Map([["a", "b"]])
    }
    const unpacked = unpackOutline(packOutline(outline))
    assert.deepStrictEqual({ ...unpacked }, outline)
  })

  it("takes a fraction of the memory", () => {
    const values = Int32Array.from(
      { length: 60_000 },
      (_, index) => [index * 9, index * 9 - 4, index % 7, -1, 0, -1][index % 6]!
    )
    const { values: packed } = packOutline({ values, pieces: new Int32Array(0), names: [], disguises: new Map() })
    assert.isBelow(packed.length, values.byteLength / 10)
  })
})
