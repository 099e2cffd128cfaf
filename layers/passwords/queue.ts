/**
 * Passwords that wait to be checked in a thread of its own, which is started when there is one, and again when it has died.
 * The thread has one of them at a time; the others wait here, where whoever leaves takes his along.
 */
import type { Worker } from "node:worker_threads"
import { type Container, contained, ignore } from "../../src/services/contained.ts"
import { containerOf, type TellDefect } from "../../src/services/defects.ts"
import { startThread } from "../thread.ts"
import type { Checked, Order } from "./messages.ts"
import type { Check } from "./users.ts"

/** Passwords that may wait: at bcrypt's usual cost, the last of them waits ten seconds. */
const mostWaiting = 128

interface Waiting extends Order {
  readonly answer: (matches: boolean | undefined) => void
}

export class PasswordQueue {
  readonly #waiting = new Map<number, Waiting>()
  readonly #container: Container
  #worker: Worker | undefined
  #current: Waiting | undefined
  #last = 0

  constructor(tell: TellDefect) {
    this.#container = containerOf(tell, "passwords")
  }

  readonly check: Check = (password, hash, answer) => {
    if (this.#waiting.size >= mostWaiting) {
      answer(undefined)
      return ignore
    }
    const id = ++this.#last
    this.#waiting.set(id, { id, password, hash, answer })
    if (this.#current === undefined) this.#next()
    // What is being checked is checked to its end: it may be shown again.
    return () => void this.#waiting.delete(id)
  }

  end(): Promise<unknown> {
    return this.#worker?.terminate() ?? Promise.resolve()
  }

  #next(): void {
    const [next] = this.#waiting.values()
    this.#current = next
    if (next === undefined) {
      this.#worker?.unref()
      return
    }
    const { id, password, hash } = next
    this.#waiting.delete(id)
    this.#worker ??= this.#start()
    this.#worker.postMessage({ id, password, hash } satisfies Order)
  }

  #start(): Worker {
    const worker = startThread("passwords", { execArgv: [] })
    // Who waits for an answer keeps the process alive; the thread by itself does not.
    worker.unref()
    const checked = contained(this.#container, ({ id, matches }: Checked) => {
      if (this.#current?.id === id) this.#done(matches)
    })
    const exited = contained(this.#container, () => {
      this.#worker = undefined
      if (this.#current !== undefined) this.#done(undefined)
    })
    // An error ends the thread, which `exit` tells.
    worker.on("message", checked).on("error", ignore).on("exit", exited)
    return worker
  }

  #done(matches: boolean | undefined): void {
    const { answer } = this.#current!
    this.#next()
    answer(matches)
  }
}
