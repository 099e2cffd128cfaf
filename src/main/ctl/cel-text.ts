/** How problems and explanations of expressions are printed for people. */
import { formatText, type Problem } from "../../../spec/config/problem.ts"
import { source as indexed } from "../../../spec/config/source.ts"
import type { Explanation, Shown, Step } from "../../../spec/explanation.ts"
import type { CelProblem, Expression } from "../../cel/expression.ts"
import { maxSteps } from "../../cel/limits.ts"
import { printable } from "./printable.ts"

interface Fault {
  readonly message: string
  readonly start: number
  readonly line: number
  readonly column: number
  readonly available?: ReadonlyArray<string>
}

/** A fault as a finding about the text, with the line it stands on and the names that could stand there. */
export const problemOf = (name: string, source: string, fault: Fault): Problem => {
  const excerpt = indexed(source).excerpt(fault.start, Int32Array.of(0, source.length, 1))
  const { message, line, column, available = [] } = fault
  return {
    ...{ file: name, line, column, path: "", message, severity: "error" },
    excerpt: available.length === 0 ? excerpt : `${excerpt}\navailable: ${available.join(", ")}`
  }
}

export const problemsText = (name: string, source: string, problems: ReadonlyArray<CelProblem>): string =>
  formatText(problems.map((problem) => problemOf(name, source, problem)))

/** What is known of an expression without evaluating it. */
export const checkedText = ({ kind, attributes, cost }: Expression): string => {
  const { requestBody, requestBodyPrefix, responseBody, responseBodyPrefix } = attributes
  const buffered = [
    requestBody ? "request body" : requestBodyPrefix ? "beginning of the request body" : undefined,
    responseBody ? "response body" : responseBodyPrefix ? "beginning of the response body" : undefined
  ].filter((body) => body !== undefined)
  const most = Number.isFinite(cost.most)
    ? `to ${cost.most} steps in macros`
    : "steps or more in macros, by what they run over"
  return [
    `type:    ${kind === "dyn" ? "known at run time only" : kind}`,
    `reads:   ${[...attributes.paths].sort().join(", ") || "nothing"}`,
    `buffers: ${buffered.join(", ") || "nothing"}`,
    `cost:    ${cost.least} ${most}; an evaluation ends after ${maxSteps}`
  ].join("\n")
}

const shownText = (shown: Shown): string => {
  switch (shown.kind) {
    case "value":
      return shown.value
    case "error":
      return `error: ${shown.message}`
    case "skipped":
      return "not evaluated"
  }
}

/** The tree of the parts, each with its place and what it gave; and where the evaluation failed first. */
export const explanationText = (name: string, { source, outcome, steps, cause }: Explanation): string => {
  const rows = steps.flatMap((step) => rowsOf(step, 0))
  const width = Math.max(0, ...rows.map(([place]) => place.length))
  const tree = rows.map(([place, text]) => printable(`${place.padEnd(width)}  ${text}`))
  const whole = steps[0]?.source === source.trim() ? [] : [`=> ${shownText(outcome)}`]
  return [...tree, ...whole, ...(cause === undefined ? [] : [formatText([problemOf(name, source, cause)])])].join("\n")
}

const rowsOf = (step: Step, depth: number): ReadonlyArray<readonly [place: string, text: string]> => {
  const times = step.evaluations > 1 ? `  (the last of ${step.evaluations} times)` : ""
  const text = `${"  ".repeat(depth)}${step.source.replace(/\s+/g, " ")}  =>  ${shownText(step.outcome)}${times}`
  return [[`${step.line}:${step.column}`, text], ...step.parts.flatMap((part) => rowsOf(part, depth + 1))]
}
