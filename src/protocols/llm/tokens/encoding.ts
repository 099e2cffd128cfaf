/** Which byte pair encoding a model counts in, by its name. */

import type { Encoding } from "../../../services/tokenizer.ts"

/** First match counts. `undefined`: OpenAI's encodings that are not offered here. */
const families: ReadonlyArray<readonly [name: RegExp, encoding: Encoding | undefined]> = [
  [/^gpt-?2$|^gpt-oss/, undefined],
  [/^(text|code)-(davinci|curie|babbage|ada|cushman|similarity|search)-/, undefined],
  [/^(davinci|curie|babbage|ada|davinci-codex|cushman-codex)$/, undefined],
  [/^text-embedding-|^(davinci|babbage)-002$/, "cl100k_base"],
  [/^gpt-3|^gpt-4($|-32k|-turbo|-vision|-\d{4})/, "cl100k_base"],
  [/^(gpt-|chatgpt-|chat-|o\d|codex-|computer-use-)/, "o200k_base"]
]

/** `undefined` when the model counts in an encoding that is not offered. Models of other vendors count in cl100k_base, as an estimate. */
export const encodingOf = (model: string): Encoding | undefined => {
  const name = model.startsWith("ft:") ? model.slice(3).split(":", 1)[0]! : model
  const family = families.find(([pattern]) => pattern.test(name))
  return family === undefined ? "cl100k_base" : family[1]
}
