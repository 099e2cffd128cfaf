/**
 * sessionAffinity: requests of one kind reach the same of several endpoints. It notes the kind; whoever chooses between endpoints asks it.
 * Nothing is decided about the request: where there is no kind, any endpoint will do.
 */
import { Buffer } from "node:buffer"
import { Effect } from "effect"
import {
  type CelError,
  type CelValue,
  compileExpression,
  next,
  policy,
  preparation,
  SecretValue,
  slots,
  type Verdict
} from "../../src/policy/policy.ts"
import { SessionAffinity } from "./schema.ts"

export const sessionAffinity = policy({
  name: "sessionAffinity",
  traceKey: "sessionAffinity",
  schema: SessionAffinity,
  sites: ["backend"],
  responds: [],
  reads: slots.expressionSlots,
  writes: [slots.affinity],
  outcomes: ["next"],
  maturity: { status: "stable", untrusted: "client+backend" },
  compile: ({ source }) =>
    Effect.map(compileExpression(source, "backend", ["source"]), (expression) => {
      const prepare = preparation([expression])
      return [
        {
          name: "sessionAffinity",
          phase: "request",
          run: (x): Effect.Effect<Verdict> => {
            const note = () => {
              const kind = textOf(expression.evaluate(x.variables))
              if (kind !== undefined) x.set(slots.affinity, kind)
              return next
            }
            // A body that cannot be read says nothing of its kind.
            return prepare === undefined ? note() : Effect.matchEffect(prepare(x), { onFailure: note, onSuccess: note })
          }
        }
      ]
    })
})

/** Texts and bytes that are not empty. That of a secret goes no further than a number that is made of it. */
const textOf = (value: CelValue | CelError): string | undefined => {
  const text =
    value instanceof SecretValue
      ? value.unredacted()
      : value instanceof Uint8Array
        ? Buffer.from(value.buffer, value.byteOffset, value.length).toString("latin1")
        : value
  return typeof text === "string" && text !== "" ? text : undefined
}
