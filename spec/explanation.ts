/** How the explanation of an expression is written, in trace events and by the command-line tool: every part with what it gave. */
import { Schema } from "effect"

const text = (description: string) => Schema.String.annotate({ description })

/** What a part gave. A part of a macro is evaluated many times; the last time decided. */
export const Shown = Schema.Union([
  Schema.Struct({
    kind: Schema.Literal("value"),
    type: text("The type of the value, as type() names it."),
    value: text("The value as JSON, cut where it is long; what comes of a credential is <redacted>.")
  }),
  Schema.Struct({
    kind: Schema.Literal("error"),
    code: text(
      "no_such_key, undeclared, no_such_overload, overflow, divide_by_zero, invalid_argument, unreadable, limit or failed."
    ),
    message: Schema.String
  }),
  Schema.Struct({ kind: Schema.Literal("skipped") })
]).annotate({ identifier: "Shown", description: "What a part gave; skipped where another part had decided before." })
export type Shown = typeof Shown.Type

const place = {
  source: text("The text of the part."),
  start: Schema.Int.annotate({ description: "Where it begins, counted from 0 in UTF-16 units." }),
  end: Schema.Int,
  line: Schema.Int.annotate({ description: "Counted from 1." }),
  column: Schema.Int.annotate({ description: "Counted from 1." })
}

const fields = {
  ...place,
  outcome: Shown,
  evaluations: Schema.Int.annotate({ description: "How often the part was evaluated: more than once inside macros." })
}

/** A part of an expression. Literals, and the names inside a path such as `jwt.sub`, are no parts of their own. */
export interface Step extends Schema.Struct.Type<typeof fields> {
  readonly parts: ReadonlyArray<Step>
}
export const Step: Schema.Codec<Step> = Schema.Struct({
  ...fields,
  parts: Schema.Array(Schema.suspend(() => Step))
}).annotate({ identifier: "Step", description: "A part of an expression, and what it is made of." })

export const Explanation = Schema.Struct({
  source: text("The expression."),
  outcome: Shown,
  steps: Schema.Array(Step),
  cause: Schema.optionalKey(
    Schema.Struct({ ...place, message: Schema.String }).annotate({
      description: "Where and why the evaluation failed first, if it failed."
    })
  )
}).annotate({ identifier: "Explanation", description: "Why an expression gave what it gave." })
export type Explanation = typeof Explanation.Type
