/** Names in sight at a place of an expression: variables of macros and parameters of functions, innermost first. */
export interface Scope {
  readonly name: string
  /** Where in the frame its value stands. */
  readonly slot: number
  readonly outer: Scope | undefined
}

export const lookup = (scope: Scope | undefined, name: string): Scope | undefined => {
  for (let at = scope; at !== undefined; at = at.outer) if (at.name === name) return at
  return undefined
}
