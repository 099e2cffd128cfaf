import { assert, describe, it } from "@effect/vitest"
import { asks, instrumented } from "./instrument.ts"
import { type Mutant, mutantsOf, writtenMutant } from "./mutations.ts"
import { draw, unfounded, written } from "./sample.ts"

const told = (source: string): ReadonlyArray<string> =>
  mutantsOf("file.ts", source).map(({ operator, code, becomes }) => `${operator}: ${code} → ${becomes}`)

/** What a module of statements and a `return` yields. */
const run = (source: string, awake: number): unknown => new Function(asks, source)((id: number) => id === awake)

/** Statements without semicolons, with places inside places. What comes of it is what it `told`. */
const program = `const told = []
const list = { a: { b: [3, 1] }, f: (n) => n > 1 && n < 4 }
let i = 0
list.a?.b.push(7)
list.f?.(2) || told.push("never")
while (i < 2) i++
for (const n of list.a?.b ?? []) if (list.f(n)) told.push(n * 2)
else told.push(\`<\${n}>\`)
const last = () => {
  told.push("last")
  return i === 2
}
told.push(last())
`

describe("mutants", () => {
  it("change what runs, each in its own way", () => {
    const cases: ReadonlyArray<readonly [source: string, mutants: ReadonlyArray<string>]> = [
      ["if (a) b", ["condition negated: a → !(a)"]],
      ["x = a === b ? c : d", ["condition negated: a === b → !(a === b)"]],
      ["x = a !== b", ["equality: a !== b → a === b"]],
      ["x = a <= b", ["boundary: a <= b → a < b"]],
      ["x = a && b", ["and/or: a && b → a || b"]],
      ["x = a - b", ["arithmetic: a - b → a + b"]],
      ["x += b", ["arithmetic: x += b → x -= b"]],
      ["i++", ["arithmetic: i++ → i--"]],
      ["x = 'route'", ["string emptied: 'route' → \"\""]],
      ["x = 3", ["number by one: 3 → 4", "number by one: 3 → 2"]],
      ["x = a?.b?.[c]?.(d)", ["optional chaining dropped: a?.b?.[c]?.(d) → a.b[c](d)"]],
      ["f = () => !a", ["returned value: !a → true", "returned value: !a → false"]],
      ["f = () => { return [a] }", ["returned value: [a] → []"]],
      ["f = () => { return a }", ["returned value: a → undefined"]],
      ["f = () => { g() }", ["statement removed: g() → "]],
      ["f = function* () { yield* g }", []],
      ["f = () => { x.y = z }", ["statement removed: x.y = z → "]]
    ]
    for (const [source, mutants] of cases) assert.deepStrictEqual(told(source), mutants, source)
  })

  it("leave types, imports, names and prose alone", () => {
    const source = `import { a } from "./a.ts"
type Kind = "one" | 2
const x = <A extends "b">(y: Record<"c", 3>) => {}
const z = { "key": y as "d", description: "word", message: \`bad\` }
throw new TypeError("odd")
w = "what people read"
export { b } from "./b.ts"
`
    assert.deepStrictEqual(told(source), [])
  })

  it("are in their file asleep, and each does when awake what it does alone", () => {
    const mutants = mutantsOf("file.ts", program)
    assert.isAbove(mutants.length, 25)
    const text = instrumented("file.ts", program, new Map(mutants.entries()), "./switch.mjs")
    const module = text.replace(/^import [^;]*;/, "")
    assert.strictEqual(run(module, -1), run(program, -1))
    const outcome = (source: string, awake: number) => {
      try {
        return run(source, awake)
      } catch (error) {
        return String(error)
      }
    }
    const alone = ({ start, end, becomes }: Mutant) => `${program.slice(0, start)}${becomes}${program.slice(end)}`
    // Downwards, the loop would never end.
    for (const [id, mutant] of mutants.entries())
      if (mutant.becomes !== "i--")
        assert.strictEqual(outcome(module, id), outcome(alone(mutant), -1), `${mutant.code} → ${mutant.becomes}`)
  })

  it("that are written down name one place", () => {
    assert.strictEqual(writtenMutant("file.ts", "f(a)\ng(b)", "g(b)", "").line, 2)
    assert.throws(() => writtenMutant("file.ts", "f(a)\nf(a)", "f(a)", ""), /found it 2 times/)
    assert.throws(() => writtenMutant("file.ts", "f(a)", "g(a)", ""), /found it 0 times/)
  })

  it("are the same ones for the same seed, and those of the lists are there", () => {
    const drawn = draw(1)
    assert.deepStrictEqual(draw(1), drawn)
    const [again, ...groups] = drawn
    assert.strictEqual(again?.mutants.length, written().length)
    assert.deepStrictEqual(
      groups.map(({ mutants }) => mutants.length),
      [40, 40, 40, 40, 100]
    )
    assert.deepStrictEqual(unfounded(), [])
  })
})
