/** How many tokens a prompt is about to cost, cheaply: by the size of its text. */
import { Buffer } from "node:buffer"

/** English prose is close to four bytes of UTF-8 a token; other scripts have fewer characters a token, but more bytes a character. */
const bytesPerToken = 4

/** The estimate that is charged at admission where no exact count was asked for. */
export const estimateTokens = (texts: ReadonlyArray<string>): number => {
  let bytes = 0
  for (const text of texts) bytes += Buffer.byteLength(text)
  return tokensOf(bytes)
}

/** The same for so many bytes. */
export const tokensOf = (bytes: number): number => Math.ceil(bytes / bytesPerToken)
