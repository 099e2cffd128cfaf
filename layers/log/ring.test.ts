import { assert, describe, it } from "@effect/vitest"
import { Arbitrary, Schema } from "effect"
import { Ring } from "./ring.ts"

const between = (minimum: number, maximum: number) =>
  Arbitrary.schema(Schema.Int.check(Schema.isBetween({ minimum, maximum })))

const size = 256

/** What the two sides do, in turns: a line of so many characters, so many bytes written, a write that fails. */
const step = Arbitrary.map(Arbitrary.all({ kind: between(0, 9), amount: between(1, 120) }), ({ kind, amount }) =>
  kind < 5 ? { add: amount } : kind < 9 ? { take: amount } : { fail: true }
)

describe("lines that wait", () => {
  it.prop(
    "come out as they went in, each byte once, and what is lost is lost by whole lines and counted",
    [Arbitrary.array(step, { maxLength: 80 }), between(0, 1), between(0, 2)],
    ([steps, rewinds, begins]) => {
      const ring = new Ring(size, 64)
      // Positions are the first two words, and pass the ends of their range.
      new Int32Array(ring.memory, 0, 2).fill([0, 0x7fff_ff80, -0x80][begins]!)
      const lines: Array<string> = []
      let out = Buffer.alloc(0)
      const waits = (): Buffer => {
        const parts: Array<Buffer> = []
        // The model of what must still come: everything that was accepted, without what came.
        for (const line of lines) parts.push(Buffer.from(line))
        return Buffer.concat(parts)
      }
      let full = 0
      let failed = 0
      for (const [index, each] of steps.entries()) {
        if ("add" in each) {
          const line = `${index}${"é€x".repeat(each.add).slice(0, each.add)}\n`
          const { lostFull } = ring
          ring.add(line)
          if (ring.lostFull > lostFull) full++
          else lines.push(line)
        } else if ("take" in each) {
          const bytes = ring.next(each.take)
          out = Buffer.concat([out, bytes])
          ring.take(bytes.length)
          if (rewinds === 1) ring.rewind()
        } else {
          // Of the model goes what has not been begun.
          const begun = lines.findIndex((_, i) => Buffer.byteLength(lines.slice(0, i + 1).join("")) > out.length)
          const start = begun < 0 ? out.length : Buffer.byteLength(lines.slice(0, begun).join(""))
          const keep = begun < 0 ? lines.length : start < out.length ? begun + 1 : begun
          failed += lines.length - keep
          lines.length = keep
          ring.fail()
        }
        assert.isAtMost(ring.waiting, size)
        assert.strictEqual(ring.waiting, waits().length - out.length)
      }
      for (let bytes = ring.next(size); bytes.length > 0; bytes = ring.next(size)) {
        out = Buffer.concat([out, bytes])
        ring.take(bytes.length)
      }
      assert.strictEqual(out.toString(), lines.join(""))
      assert.deepStrictEqual([ring.lostFull, ring.lostFailed], [full, failed])
    },
    { arbitrary: { runs: 500 } }
  )

  it("are worth a write when so many of them wait, and only then", () => {
    const ring = new Ring(size, 64)
    const line = `${"x".repeat(19)}\n`
    assert.deepStrictEqual(
      Array.from({ length: 6 }, () => ring.add(line)),
      [false, false, false, true, false, false]
    )
  })
})
