/** The function library: every function of the language by name. */
import type { Overload } from "./function.ts"
import { textFunctions } from "./functions/text.ts"

const index = new Map<string, Array<Overload>>()
for (const overload of [...textFunctions]) {
  const key = overload.method ? `.${overload.name}` : overload.name
  const known = index.get(key)
  if (known === undefined) index.set(key, [overload])
  else known.push(overload)
}

const none: ReadonlyArray<Overload> = []

/** The forms of a function; empty when there is none of that name. */
export const overloadsOf = (name: string, method: boolean): ReadonlyArray<Overload> =>
  index.get(method ? `.${name}` : name) ?? none

/** The names of all functions, methods with a dot before them, sorted. */
export const functionNames = (): ReadonlyArray<string> => [...index.keys()].sort()
