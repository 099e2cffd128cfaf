/**
 * The thread that counts tokens. A prompt of a few megabytes keeps it busy for seconds: orders take turns, a piece of text at a time, and one
 * whose client has left is dropped.
 */
import { setImmediate } from "node:timers/promises"
import { parentPort } from "node:worker_threads"
import type { Encoding } from "../../src/services/tokenizer.ts"
import type { Counted, Order } from "./messages.ts"
import { boundedPieces } from "./pieces.ts"

type Counter = (text: string) => number

/** Characters that are counted before others may. */
const turn = 1000

const load = async (encoding: Encoding): Promise<Counter> => {
  // One import per encoding, spelled out so that bundlers see them; each brings megabytes of tables.
  const { countTokens } =
    encoding === "o200k_base"
      ? await import("gpt-tokenizer/encoding/o200k_base")
      : await import("gpt-tokenizer/encoding/cl100k_base")
  // Special tokens in a prompt count as such; by default the library throws on them.
  return (text) => countTokens(text, { allowedSpecial: "all" })
}

const counters = new Map<Encoding, Promise<Counter>>()
const counterOf = (encoding: Encoding): Promise<Counter> => {
  const known = counters.get(encoding) ?? load(encoding)
  counters.set(encoding, known)
  // The next order tries again.
  known.catch(() => counters.delete(encoding))
  return known
}

const cancelled = new Set<number>()
const open = new Set<number>()

const count = async ({ id, encoding, texts }: Extract<Order, { texts: unknown }>): Promise<number | undefined> => {
  const counter = await counterOf(encoding)
  let tokens = 0
  let characters = 0
  for (const text of texts)
    for (const piece of boundedPieces(text)) {
      tokens += counter(piece)
      characters += piece.length
      if (characters < turn) continue
      characters = 0
      await setImmediate()
      if (cancelled.has(id)) return undefined
    }
  return tokens
}

parentPort?.on("message", (order: Order) => {
  const { id } = order
  if ("cancelled" in order) {
    if (open.has(id)) cancelled.add(id)
    return
  }
  open.add(id)
  const done = (tokens: number | undefined) => {
    open.delete(id)
    if (!cancelled.delete(id)) parentPort?.postMessage({ id, tokens } satisfies Counted)
  }
  count(order).then(done, () => done(undefined))
})
