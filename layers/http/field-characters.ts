/**
 * Which characters may stand where in the head of a message that is sent. Asked where a head becomes bytes: what a policy or
 * a program put there came past no parser.
 */

/** Per character below U+0100: 1 in values, 2 in targets, 4 in names, as a sum. */
const kinds = new Uint8Array(256)
for (let byte = 0x20; byte < 0x100; byte++) kinds[byte] = byte === 0x20 ? 1 : byte === 0x7f ? 0 : 3
kinds[9] = 1
for (const byte of Buffer.from("!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"))
  kinds[byte] = 7

/** Whether all characters are of a kind. What is beyond the table reads as `undefined`, and is of none. */
const consistsOf = (text: string, kind: number): boolean => {
  for (let i = 0; i < text.length; i++) if ((kinds[text.charCodeAt(i)]! & kind) === 0) return false
  return true
}

/** From this length on a pattern is faster: over a part of a received head, such as a token, more than three times. */
const long = 16
const notText = /[^\t\x20-\x7e\x80-\xff]/

export const isText = (value: string): boolean =>
  typeof value === "string" && (value.length < long ? consistsOf(value, 1) : !notText.test(value))
export const isVisible = (text: string): boolean => text !== "" && consistsOf(text, 2)
export const isToken = (text: string): boolean => text !== "" && consistsOf(text, 4)
