/** The word that guards look for in the attacks on them, the formats of conversations, and what a client may send. */

/** The word, its halves, and how JSON may write it. */
export const word = "swordfish"
export const sword = word.slice(0, 5)
export const fish = word.slice(5)
export const escaped = "\\u0073wordfish"

/** The formats of conversations. */
export const formats = ["completions", "messages", "responses", "generateContent"] as const
export type Format = (typeof formats)[number]

/** A body, or how its text follows from the model. */
export type Body = object | ((model: string) => string | Uint8Array<ArrayBuffer>)
