/** What the thread that counts tokens is told, and what it tells. */
import type { Encoding } from "../../src/services/tokenizer.ts"

export type Order =
  | { readonly id: number; readonly encoding: Encoding; readonly texts: ReadonlyArray<string> }
  | { readonly id: number; readonly cancelled: true }

/** Without `tokens` the encoding could not be loaded. */
export interface Counted {
  readonly id: number
  readonly tokens: number | undefined
}
