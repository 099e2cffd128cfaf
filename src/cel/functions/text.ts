/** Functions on strings: the standard ones and those of the strings extension. */

import { outOfWork } from "../frame.ts"
import { global, method } from "../function.ts"
import { CelError } from "../problem.ts"
import { findText } from "../search.ts"

export const textFunctions = [
  method("startsWith", ["string", "string"], "bool", (_, text, prefix) => text.startsWith(prefix)),
  method("endsWith", ["string", "string"], "bool", (_, text, suffix) => text.endsWith(suffix)),
  method("contains", ["string", "string"], "bool", (frame, text, part) => {
    const at = findText(text, part, 0, frame)
    return at instanceof CelError ? at : at !== -1
  }),
  global("size", ["string"], "int", (frame, text) => (frame.spend(text.length >> 4) ? codePoints(text) : outOfWork))
]

const codePoints = (text: string): bigint => {
  let count = text.length
  for (let i = 0; i < text.length; i++)
    if ((text.charCodeAt(i) & 0xfc00) === 0xd800 && (text.charCodeAt(i + 1) & 0xfc00) === 0xdc00) count--
  return BigInt(count)
}
