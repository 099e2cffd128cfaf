/**
 * What tells two values with secrets in them apart, and says nothing else of them: a digest under a key of this process. Two different
 * secrets print alike, and what is kept from one configuration to the next must not be handed over between them.
 */
import { createHmac, randomBytes } from "node:crypto"
import { revealedText } from "./revealed.ts"

let key: Buffer | undefined

export const fingerprint = (value: unknown): string => {
  key ??= randomBytes(32)
  return createHmac("sha256", key).update(revealedText(value)).digest("base64")
}
