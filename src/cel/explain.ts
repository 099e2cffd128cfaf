/**
 * Why an expression gave what it gave: the value of every part that was evaluated, the parts that were not, and the first cause of a
 * failure. Values that come from secrets are hidden, and so is everything made of them; a bool is shown, since it is what is asked about.
 */
import type { Bindings } from "./bindings.ts"
import { Compiler } from "./compile.ts"
import type { Expression } from "./expression.ts"
import { Frame, type Outcome, outOfWork } from "./frame.ts"
import { HeadersView } from "./headers.ts"
import { toJson } from "./json.ts"
import { typeNameOf } from "./kind.ts"
import { CelError, type CelErrorCode, positionOf } from "./problem.ts"
import { childrenOf, type Node } from "./syntax.ts"
import { taintOf } from "./taint.ts"
import { redacted } from "./value.ts"

/** What a part gave. A part of a macro is evaluated many times; the last time decided. */
export type Shown =
  | { readonly kind: "value"; readonly type: string; readonly value: string }
  | { readonly kind: "error"; readonly code: CelErrorCode; readonly message: string }
  /** Another part had decided before. */
  | { readonly kind: "skipped" }

/** A part of an expression. Literals, and the names inside a path such as `jwt.sub`, are no parts of their own. */
export interface Step {
  /** The text of the part and where it stands; lines and columns count from 1. */
  readonly source: string
  readonly start: number
  readonly end: number
  readonly line: number
  readonly column: number
  readonly outcome: Shown
  readonly evaluations: number
  readonly parts: ReadonlyArray<Step>
}

export interface Explanation {
  readonly source: string
  readonly outcome: Shown
  readonly steps: ReadonlyArray<Step>
  /** Where and why the evaluation failed, if it did. */
  readonly cause: (Omit<Step, "outcome" | "evaluations" | "parts"> & { readonly message: string }) | undefined
}

/** Values are shown as JSON up to this many characters. */
const maxShown = 1_000

interface Record {
  count: number
  last: Outcome | undefined
}

/** Evaluates an expression and explains the result. It costs some fifty times as much as an evaluation. */
export const explain = (expression: Expression, bindings: Bindings): Explanation => {
  const { source, syntax, names } = expression
  const records = new Map<Node, Record>()
  const compiler = new Compiler(source, names, (node, run) => {
    const record: Record = { count: 0, last: undefined }
    records.set(node, record)
    return (frame) => {
      const outcome = run(frame)
      record.count++
      record.last = outcome
      return outcome
    }
  })
  const { run } = compiler.compile(syntax, undefined)
  const frame = new Frame(compiler.slots)
  frame.bindings = bindings
  const evaluated = run(frame)
  const outcome = frame.steps < 0 ? outOfWork : evaluated
  const tainted = taintOf(syntax, names, bindings.sensitiveHeaders)
  return {
    source,
    outcome: show(outcome, tainted.has(syntax)),
    steps: stepsOf(source, syntax, records, tainted),
    cause: outcome instanceof CelError ? causeOf(source, syntax, outcome, tainted) : undefined
  }
}

const stepsOf = (
  source: string,
  node: Node,
  records: ReadonlyMap<Node, Record>,
  tainted: ReadonlySet<Node>
): ReadonlyArray<Step> => {
  const parts = childrenOf(node).flatMap((child) => stepsOf(source, child, records, tainted))
  const record = records.get(node)
  if (record === undefined) return parts
  const outcome: Shown = record.last === undefined ? { kind: "skipped" } : show(record.last, tainted.has(node))
  return [{ ...place(source, node.start, node.end), outcome, evaluations: record.count, parts }]
}

const place = (source: string, start: number, end: number) => ({
  source: source.slice(start, end),
  start,
  end,
  ...positionOf(source, start)
})

const show = (outcome: Outcome, hide: boolean): Shown => {
  if (outcome instanceof CelError)
    return {
      kind: "error",
      code: outcome.code,
      message: hide && outcome.code === "failed" ? redacted : outcome.message
    }
  const type = typeNameOf(outcome)
  if (hide && typeof outcome !== "boolean") return { kind: "value", type, value: JSON.stringify(redacted) }
  const json = toJson(outcome instanceof HeadersView ? outcome.redacted() : outcome)
  const text = typeof json === "string" ? json : json.message
  return { kind: "value", type, value: text.length > maxShown ? `${text.slice(0, maxShown)}…` : text }
}

const causeOf = (source: string, syntax: Node, error: CelError, tainted: ReadonlySet<Node>): Explanation["cause"] => {
  const [start, end] = error.start >= 0 ? [error.start, error.end] : [syntax.start, syntax.end]
  const shown = show(error, tainted.has(syntax))
  return { ...place(source, start, end), message: shown.kind === "error" ? shown.message : "" }
}
