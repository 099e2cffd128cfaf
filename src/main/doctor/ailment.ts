/** What the doctor finds: what is wrong, where, and what to do about it. */

/** What is looked at, in the order in which it is told. */
export const examinations = [
  "runtime",
  "file",
  "variables",
  "ports",
  "commands",
  "certificates",
  "backends",
  "clock",
  "limits",
  "cache"
] as const

export interface Ailment {
  readonly about: (typeof examinations)[number]
  /** An error keeps something from working; a warning makes it worse than it could be. */
  readonly severity: "error" | "warning"
  /** Whether the file is right, and this build cannot serve what it asks for. */
  readonly unavailable?: boolean
  readonly what: string
  /** Nothing where `what` says it. */
  readonly remedy?: string | undefined
}

export const error = (about: Ailment["about"], what: string, remedy?: string): Ailment => ({
  about,
  severity: "error",
  what,
  remedy
})

export const warning = (about: Ailment["about"], what: string, remedy?: string): Ailment => ({
  about,
  severity: "warning",
  what,
  remedy
})

/** For people: one line each, with what to do below it. */
export const ailmentText = ({ about, severity, what, remedy }: Ailment): string =>
  `${about}: ${severity === "warning" ? "warning: " : ""}${what}${remedy === undefined ? "" : `\n    ${remedy}`}`
