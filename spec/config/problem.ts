/** What is wrong with a configuration, where, and the three ways to print it: for people, for programs, for a code review. */

export type Severity = "error" | "warning"

/** One finding about a configuration. Never holds a value of the file other than through the masked excerpt. */
export interface Problem {
  /** The name under which the text was loaded. */
  readonly file: string
  /** Line in the original text, from 1. */
  readonly line: number
  /** Column in the original text in UTF-16 units, from 1. */
  readonly column: number
  /** The value at fault, as `formatPath` writes it; empty for the file as a whole. */
  readonly path: string
  readonly message: string
  readonly severity: Severity
  /** Stable name of the kind of finding, for suppression and documentation. */
  readonly code?: string
  /** The line of the original text and a marker below it. Values the schema does not know, and secrets, are masked. */
  readonly excerpt?: string
}

/** In the order of the text. */
export const inOrder = (problems: ReadonlyArray<Problem>): ReadonlyArray<Problem> =>
  problems.toSorted((a, b) => a.line - b.line || a.column - b.column)

/** `file:line:column: path: message`; warnings say so and name their code. */
export const formatLine = (problem: Problem): string => {
  const where = `${problem.file}:${problem.line}:${problem.column}: `
  const kind = problem.severity === "warning" ? "warning: " : ""
  const path = problem.path === "" ? "" : `${problem.path}: `
  const code = problem.severity === "warning" && problem.code !== undefined ? ` [${problem.code}]` : ""
  return where + kind + path + problem.message + code
}

/** One line a problem, each followed by its excerpt. */
export const formatText = (problems: ReadonlyArray<Problem>): string =>
  problems
    .map((problem) =>
      problem.excerpt === undefined ? formatLine(problem) : `${formatLine(problem)}\n${indent(problem.excerpt)}`
    )
    .join("\n")

const indent = (text: string) => text.replace(/^/gm, "    ")

/** How many there are of each kind: `2 errors, 1 warning`. */
export const countOf = (problems: ReadonlyArray<Problem>): string =>
  (["error", "warning"] as const)
    .map((kind) => [kind, problems.filter(({ severity }) => severity === kind).length] as const)
    .filter(([, count]) => count > 0)
    .map(([kind, count]) => `${count} ${kind}${count === 1 ? "" : "s"}`)
    .join(", ")

/** A JSON array, for programs. */
export const formatJson = (problems: ReadonlyArray<Problem>): string => JSON.stringify(problems, null, 2)

const escapeData = (text: string) => text.replaceAll("%", "%25").replaceAll("\r", "%0D").replaceAll("\n", "%0A")
const escapeProperty = (text: string) => escapeData(text).replaceAll(":", "%3A").replaceAll(",", "%2C")

/** The ways to print problems, by the names that programs take. */
export const problemFormats = ["text", "json", "github"] as const
export type ProblemFormat = (typeof problemFormats)[number]
export const isProblemFormat = (text: string): text is ProblemFormat => problemFormats.some((name) => name === text)

export const formatProblems = (format: ProblemFormat, problems: ReadonlyArray<Problem>): string => {
  switch (format) {
    case "text":
      return formatText(problems)
    case "json":
      return formatJson(problems)
    case "github":
      return formatGithub(problems)
  }
}

/** Workflow commands that GitHub turns into annotations on the changed lines. */
export const formatGithub = (problems: ReadonlyArray<Problem>): string =>
  problems
    .map((problem) => {
      const title = problem.path === "" ? "" : `,title=${escapeProperty(problem.path)}`
      return `::${problem.severity} file=${escapeProperty(problem.file)},line=${problem.line},col=${problem.column}${title}::${escapeData(problem.message)}`
    })
    .join("\n")
