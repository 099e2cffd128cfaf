/** Counts tokens in a thread of its own, which is started when somebody first asks, and again when it has died. */
import type { Worker } from "node:worker_threads"
import { Effect, Exit, Layer } from "effect"
import { type Container, contained, ignore } from "../../src/services/contained.ts"
import { containerOf, Defects, type TellDefect } from "../../src/services/defects.ts"
import { type Encoding, Tokenizer, TokenizerUnavailable } from "../../src/services/tokenizer.ts"
import { startThread } from "../thread.ts"
import type { Counted, Order } from "./messages.ts"

type Answer = (tokens: number | undefined) => void

class Thread {
  private worker: Worker | undefined
  private readonly waiting = new Map<number, Answer>()
  private last = 0
  private readonly container: Container

  constructor(tell: TellDefect) {
    this.container = containerOf(tell, "tokenizer")
  }

  /** Gives back how to leave. */
  ask(encoding: Encoding, texts: ReadonlyArray<string>, answer: Answer): () => void {
    const id = ++this.last
    this.waiting.set(id, answer)
    this.tell({ id, encoding, texts })
    return () => {
      if (this.waiting.delete(id)) this.tell({ id, cancelled: true })
    }
  }

  end(): Promise<unknown> {
    return this.worker?.terminate() ?? Promise.resolve()
  }

  private tell(order: Order): void {
    this.worker ??= this.start()
    this.worker.postMessage(order)
  }

  private start(): Worker {
    const worker = startThread("tokenizer", { execArgv: [] })
    // Who waits for an answer keeps the process alive; the thread by itself does not.
    worker.unref()
    const counted = contained(this.container, ({ id, tokens }: Counted) => this.answer(id, tokens))
    const exited = contained(this.container, () => {
      this.worker = undefined
      for (const id of [...this.waiting.keys()]) this.answer(id, undefined)
    })
    // An error ends the thread, which `exit` tells.
    worker.on("message", counted).on("error", ignore).on("exit", exited)
    return worker
  }

  private answer(id: number, tokens: number | undefined): void {
    const answer = this.waiting.get(id)
    this.waiting.delete(id)
    answer?.(tokens)
  }
}

export const layer: Layer.Layer<Tokenizer> = Layer.effect(
  Tokenizer,
  Effect.map(
    Effect.acquireRelease(
      Effect.map(Defects, (tell) => new Thread(tell)),
      (thread) => Effect.promise(() => thread.end())
    ),
    (thread) => ({
      count: (encoding, texts) =>
        Effect.callback<number, TokenizerUnavailable>((resume) => {
          const leave = thread.ask(encoding, texts, (tokens) =>
            resume(tokens === undefined ? Exit.fail(new TokenizerUnavailable({ encoding })) : Exit.succeed(tokens))
          )
          return Effect.sync(leave)
        })
    })
  )
)
