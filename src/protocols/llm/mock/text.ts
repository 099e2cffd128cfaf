/** The mock's words: short sentences that depend on nothing but the seed. One word with its blank counts as one token. */
import { randomFrom } from "./random.ts"

const words =
  "the a gateway route stream model token prompt answer request policy guard limit session budget provider tool agent trace span " +
  "passes reads keeps counts checks forwards settles names shapes holds every one each first last next small steady plain exact quick"
const vocabulary = words.split(" ")

const shortest = 8
const longest = 48

/** The tokens of an answer, at most `limit` of them; `cut` when the limit ended it. */
export const generate = (
  seed: number,
  limit: number | undefined
): { readonly tokens: ReadonlyArray<string>; readonly cut: boolean } => {
  const random = randomFrom(seed)
  const length = shortest + Math.floor(random() * (longest - shortest))
  const tokens: Array<string> = []
  let sentence = 0
  for (let i = 0; i < length; i++) {
    const word = vocabulary[Math.floor(random() * vocabulary.length)]!
    const first = sentence === 0
    const last = i === length - 1 || (sentence > 4 && random() < 0.25)
    tokens.push(`${i === 0 ? "" : " "}${first ? word[0]!.toUpperCase() + word.slice(1) : word}${last ? "." : ""}`)
    sentence = last ? 0 : sentence + 1
  }
  const allowed = limit === undefined ? tokens.length : Math.max(0, Math.min(limit, tokens.length))
  return { tokens: tokens.slice(0, allowed), cut: allowed < tokens.length }
}
