/**
 * Why an expression gave what it gave: the value of every part that was evaluated, the parts that were not, and the first cause of a
 * failure. Values that come from secrets are hidden, and so is everything made of them; a bool is shown, since it is what is asked about.
 */
import type { Explanation, Shown, Step } from "../../spec/explanation.ts"
import type { Bindings } from "./bindings.ts"
import { Compiler } from "./compile.ts"
import type { Expression } from "./expression.ts"
import { Frame, noBindings, type Outcome, outOfWork, type Run } from "./frame.ts"
import { HeadersView } from "./headers.ts"
import { toShownJson } from "./json.ts"
import { typeNameOf } from "./kind.ts"
import { CelError, positionOf } from "./problem.ts"
import { childrenOf, type Node } from "./syntax.ts"
import { taintOf } from "./taint.ts"
import { redacted } from "./value.ts"

/** Values are shown as JSON up to this many characters, so that a trace stays small and making it takes no time. */
const mostShown = 1_000

/** What a part gave, in one evaluation. */
interface Record {
  count: number
  last: Outcome | undefined
}

/** An expression compiled once more, so that each part leaves a record. */
interface Recorder {
  readonly run: Run
  readonly slots: number
  readonly records: ReadonlyMap<Node, Record>
}

const recorders = new WeakMap<Expression, Recorder>()

const recorderOf = (expression: Expression): Recorder => {
  const known = recorders.get(expression)
  if (known !== undefined) return known
  const records = new Map<Node, Record>()
  const compiler = new Compiler(expression.source, expression.names, (node, run) => {
    const record: Record = { count: 0, last: undefined }
    records.set(node, record)
    return (frame) => {
      const outcome = run(frame)
      record.count++
      record.last = outcome
      return outcome
    }
  })
  const { run } = compiler.compile(expression.syntax, undefined)
  const recorder = { run, slots: compiler.slots, records }
  recorders.set(expression, recorder)
  return recorder
}

/** How it is explained. */
interface Explaining {
  /** Characters of a value that are shown. */
  readonly most?: number | undefined
  /** Whether it decides about a request, as in {@link Expression.decide}. */
  readonly deciding?: boolean
}

/** Evaluates an expression and explains the result. It costs some twenty times as much as an evaluation. */
export const explain = (
  expression: Expression,
  bindings: Bindings,
  { most = mostShown, deciding = false }: Explaining = {}
): Explanation => {
  const { source, syntax, names } = expression
  const { run, slots, records } = recorderOf(expression)
  for (const record of records.values()) record.count = 0
  const frame = new Frame(slots)
  frame.bindings = bindings
  frame.deciding = deciding
  const evaluated = run(frame)
  const outcome = frame.steps < 0 ? outOfWork : deciding ? frame.decided(evaluated) : evaluated
  const tainted = taintOf(syntax, names, bindings)
  const shown = (of: Outcome, node: Node) => show(of, tainted.has(node), most)
  const steps = stepsOf(source, syntax, records, shown)
  // Nothing of the request outlives its explanation.
  frame.bindings = noBindings
  for (const record of records.values()) record.last = undefined
  const explanation = { source, outcome: shown(outcome, syntax), steps }
  return outcome instanceof CelError
    ? { ...explanation, cause: causeOf(source, syntax, outcome, tainted.has(syntax)) }
    : explanation
}

type Show = (outcome: Outcome, node: Node) => Shown

const stepsOf = (source: string, node: Node, records: ReadonlyMap<Node, Record>, shown: Show): ReadonlyArray<Step> => {
  const parts = childrenOf(node).flatMap((child) => stepsOf(source, child, records, shown))
  const record = records.get(node)
  if (record === undefined) return parts
  const outcome: Shown = record.last === undefined ? { kind: "skipped" } : shown(record.last, node)
  return [{ ...place(source, node.start, node.end), outcome, evaluations: record.count, parts }]
}

const place = (source: string, start: number, end: number) => ({
  source: source.slice(start, end),
  start,
  end,
  ...positionOf(source, start)
})

/** What `fail` says may be made of a secret; other messages hold no values. */
const messageOf = (error: CelError, hide: boolean): string =>
  hide && error.code === "failed" ? redacted : error.message

const show = (outcome: Outcome, hide: boolean, most: number): Shown => {
  if (outcome instanceof CelError) return { kind: "error", code: outcome.code, message: messageOf(outcome, hide) }
  const type = typeNameOf(outcome)
  if (hide && typeof outcome !== "boolean") return { kind: "value", type, value: JSON.stringify(redacted) }
  return {
    kind: "value",
    type,
    value: toShownJson(outcome instanceof HeadersView ? outcome.redacted() : outcome, most)
  }
}

const causeOf = (source: string, syntax: Node, error: CelError, hide: boolean) => {
  const [start, end] = error.start >= 0 ? [error.start, error.end] : [syntax.start, syntax.end]
  return { ...place(source, start, end), message: messageOf(error, hide) }
}
