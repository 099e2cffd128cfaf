/** Exact token counts: the port that admission asks, and its implementation in this thread, which loads an encoding when first asked for. */
import { Data, Effect, Exit } from "effect"
import type { Encoding } from "./encoding.ts"
import { boundedPieces } from "./pieces.ts"

/** The tables of the encoding cannot be loaded. */
export class TokenizerUnavailable extends Data.TaggedError("TokenizerUnavailable")<{ readonly encoding: Encoding }> {
  readonly status = 503
  readonly source = "proxy"
  readonly retryable = true
  override get message() {
    return `tokenizer ${this.encoding} is not available`
  }
}

/** The port. A worker thread can implement it as well. */
export interface Tokenizer {
  /** Tokens of every text together. A ready `Exit` when the answer is known at once. */
  readonly count: (encoding: Encoding, texts: ReadonlyArray<string>) => Effect.Effect<number, TokenizerUnavailable>
}

/** The wrapping that chat formats add: three tokens for the answer's start, four for each message. */
export const chatTokens = (messages: number, textTokens: number): number => 3 + 4 * messages + textTokens

type Counter = (text: string) => number

const load = async (encoding: Encoding): Promise<Counter> => {
  // One import per encoding, spelled out so that bundlers see them; each brings megabytes of tables.
  const { countTokens } =
    encoding === "o200k_base"
      ? await import("gpt-tokenizer/encoding/o200k_base")
      : await import("gpt-tokenizer/encoding/cl100k_base")
  // Special tokens in a prompt count as such; by default the library throws on them.
  return (text) => countTokens(text, { allowedSpecial: "all" })
}

const countAll = (counter: Counter, texts: ReadonlyArray<string>): number => {
  let tokens = 0
  for (const text of texts) for (const piece of boundedPieces(text)) tokens += counter(piece)
  return tokens
}

/** Counts in the calling thread. Loading takes a quarter of a second and about a hundred megabytes, once per encoding. */
export const inThreadTokenizer = (): Tokenizer => {
  const ready = new Map<Encoding, Counter>()
  const loading = new Map<Encoding, Promise<Counter>>()
  const loaded = (encoding: Encoding): Promise<Counter> => {
    const known = loading.get(encoding)
    if (known !== undefined) return known
    const started = load(encoding)
    loading.set(encoding, started)
    started.then(
      (counter) => ready.set(encoding, counter),
      // The next request tries again.
      () => loading.delete(encoding)
    )
    return started
  }
  return {
    count: (encoding, texts) => {
      const counter = ready.get(encoding)
      return counter !== undefined
        ? Exit.succeed(countAll(counter, texts))
        : Effect.map(
            Effect.tryPromise({ try: () => loaded(encoding), catch: () => new TokenizerUnavailable({ encoding }) }),
            (counter) => countAll(counter, texts)
          )
    }
  }
}
