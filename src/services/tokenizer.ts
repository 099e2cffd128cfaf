/** Port: exact counts of tokens, for budgets that ask for them and for clients whose provider cannot count. */
import { Context, Data, type Effect } from "effect"

/** The byte pair encodings that can be counted in. */
export type Encoding = "cl100k_base" | "o200k_base"

/** The tables of the encoding cannot be loaded, or nobody is left to count. */
export class TokenizerUnavailable extends Data.TaggedError("TokenizerUnavailable")<{ readonly encoding: Encoding }> {
  readonly status = 503
  readonly source = "proxy"
  override get message() {
    return `tokenizer ${this.encoding} is not available`
  }
}

export class Tokenizer extends Context.Service<
  Tokenizer,
  {
    /** Tokens of every text together. */
    readonly count: (encoding: Encoding, texts: ReadonlyArray<string>) => Effect.Effect<number, TokenizerUnavailable>
  }
>()("headgate/services/Tokenizer") {}
