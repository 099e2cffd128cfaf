/** The function library: every function of the language by name. */
import type { Overload } from "./function.ts"
import { collectionFunctions } from "./functions/collection.ts"
import { conversionFunctions } from "./functions/conversion.ts"
import { encodingFunctions } from "./functions/encoding.ts"
import { jsonFunctions } from "./functions/json.ts"
import { mathFunctions } from "./functions/math.ts"
import { networkFunctions } from "./functions/network.ts"
import { regexFunctions } from "./functions/regex.ts"
import { textFunctions } from "./functions/text.ts"
import { timeFunctions } from "./functions/time.ts"
import { valueFunctions } from "./functions/value.ts"

const index = new Map<string, Array<Overload>>()
const all: ReadonlyArray<Overload> = [
  ...textFunctions,
  ...conversionFunctions,
  ...mathFunctions,
  ...timeFunctions,
  ...collectionFunctions,
  ...encodingFunctions,
  ...jsonFunctions,
  ...networkFunctions,
  ...regexFunctions,
  ...valueFunctions
]
for (const overload of all) {
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
