/** The value of a literal with a prefix: raw text, and bytes with their escapes. */
import { type CelProblem, problemAt } from "./problem.ts"
import type { PrefixedLiteral } from "./scan.ts"

const encoder = new TextEncoder()

const simpleEscapes: Readonly<Record<string, number>> = {
  "\\": 92,
  "?": 63,
  '"': 34,
  "'": 39,
  "`": 96,
  a: 7,
  b: 8,
  f: 12,
  n: 10,
  r: 13,
  t: 9,
  v: 11
}

/** The value of a prefixed literal; in bytes, `\x` and octal escapes are octets and other characters are UTF-8. */
export const prefixedLiteral = (source: string, literal: PrefixedLiteral): string | Uint8Array | CelProblem => {
  if (!literal.bytes) return literal.text
  if (literal.raw || !literal.text.includes("\\")) return encoder.encode(literal.text)
  return unescapeBytes(source, literal)
}

const octet = /^(?:[xX]([0-9a-fA-F]{2})|([0-3][0-7]{2}))/

const unescapeBytes = (source: string, { text, from }: PrefixedLiteral): Uint8Array | CelProblem => {
  const octets: Array<number> = []
  for (let at = 0; at < text.length; ) {
    const backslash = text.indexOf("\\", at)
    const plain = text.slice(at, backslash === -1 ? text.length : backslash)
    octets.push(...encoder.encode(plain))
    if (backslash === -1) break
    const code = simpleEscapes[text[backslash + 1]!]
    if (code !== undefined) {
      octets.push(code)
      at = backslash + 2
      continue
    }
    const match = octet.exec(text.slice(backslash + 1, backslash + 4))
    if (match === null)
      return problemAt(
        source,
        from + backslash,
        from + backslash + 2,
        `'${text.slice(backslash, backslash + 2)}' is no escape sequence of bytes`
      )
    octets.push(match[1] === undefined ? Number.parseInt(match[2]!, 8) : Number.parseInt(match[1], 16))
    at = backslash + 1 + match[0].length
  }
  return Uint8Array.from(octets)
}
