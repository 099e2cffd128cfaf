/**
 * Writes lines to standard output without ever waiting for it: a pipe, a socket or a terminal takes what it has room for,
 * and a file is written by a thread of its own. docs/decisions/log-output.md says why.
 */
import { constants, fstatSync, openSync } from "node:fs"
import type { Worker } from "node:worker_threads"
import { type Container, contained, containing, nobody } from "../../src/services/contained.ts"
import { startThread } from "../thread.ts"
import { Ring } from "./ring.ts"
import { gathering, pauseAfter, writeFrom } from "./writer.ts"

/** Bytes that may wait for a slow reader or disk. Lines beyond them are lost, and the memory is not. */
const mostWaiting = 8 * 1024 * 1024
/** So many bytes are not gathered any longer. */
const batch = 64 * 1024
/** Milliseconds between two tellings of lost lines, and between two threads. */
const between = 1000

export interface ThreadData {
  readonly memory: SharedArrayBuffer
  readonly batch: number
  readonly descriptor: number
}

interface Descriptor {
  readonly descriptor: number
  /** Whether a write may wait, as that of a file waits for its disk. */
  readonly waits: boolean
}

const standardOutput = (): Descriptor => {
  const kind = fstatSync(1)
  if (kind.isFile() || kind.isBlockDevice()) return { descriptor: 1, waits: true }
  if (kind.isCharacterDevice()) {
    try {
      // A description of our own: that of the terminal is shared with the shell, which does not expect it to be full.
      const flags = constants.O_WRONLY | constants.O_NONBLOCK | constants.O_NOCTTY
      return { descriptor: openSync("/proc/self/fd/1", flags), waits: false }
    } catch {
      // It belongs to another user, or this system has no such files.
      return { descriptor: 1, waits: true }
    }
  }
  // Node lets no write to a pipe or socket wait, once it has made a stream of it.
  void process.stdout
  return { descriptor: 1, waits: false }
}

const writeLater = containing((_: Container, output: Output) => output.writeNow())

const pause = new Int32Array(new SharedArrayBuffer(4))

export class Output {
  readonly #ring = new Ring(mostWaiting, batch)
  readonly #descriptor: number
  readonly #waits: boolean
  #worker: Worker | undefined = undefined
  #began = Number.NEGATIVE_INFINITY
  #timer: NodeJS.Timeout | undefined = undefined
  #tell: (lines: number) => void = () => {}
  #told = 0
  #toldAt = Number.NEGATIVE_INFINITY

  constructor() {
    const { descriptor, waits } = standardOutput()
    this.#descriptor = descriptor
    this.#waits = waits
  }

  /** Lines that were lost: `full` because too many waited, `failed` because they could not be written. */
  get lost(): { readonly full: number; readonly failed: number } {
    return { full: this.#ring.lostFull, failed: this.#ring.lostFailed }
  }

  /** Who is told of lost lines: once a second at most, when another line comes, and when these were the last. */
  onLost(tell: (lines: number) => void): void {
    this.#tell = tell
  }

  /** Lines of events, of which there are few: nobody is served yet, or there is a thread. */
  readonly write = (line: string): void => {
    const full = this.#ring.add(line)
    if (this.#worker !== undefined) {
      if (full) this.#ring.urge()
    } else if (full) this.writeNow()
    else this.#later(gathering)
    if (this.#lines !== this.#told && performance.now() - this.#toldAt >= between) this.#tellLost()
  }

  /** Lines of requests, for which nothing may be waited. */
  readonly record = (line: string): void => {
    if (this.#waits && this.#worker === undefined) this.#startThread()
    this.write(line)
  }

  /** Ends when every line was written, or cannot be, or the time is up. */
  async drained(millis: number): Promise<void> {
    this.#tellLost()
    const deadline = performance.now() + millis
    for (const more = this.#finishing(); more() && performance.now() < deadline; )
      await new Promise((resolve) => setTimeout(resolve, 1))
  }

  /** The same, for when the process ends: nothing else happens meanwhile. */
  flush(millis: number): void {
    const deadline = performance.now() + millis
    for (const more = this.#finishing(); more() && performance.now() < deadline; ) Atomics.wait(pause, 0, 0, 1)
  }

  /** Whether there is still something to wait for, each time that it is asked. */
  #finishing(): () => boolean {
    const ring = this.#ring
    const { failures } = ring
    if (this.#worker === undefined) return () => writeFrom(ring, this.#descriptor) === "blocked"
    ring.urge()
    return () => this.#worker !== undefined && ring.waiting > 0 && ring.failures === failures
  }

  /** Writes what can be written, unless there is a thread that does. */
  writeNow(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    if (this.#worker !== undefined) return
    const written = writeFrom(this.#ring, this.#descriptor)
    this.#ring.rewind()
    if (this.#ring.waiting > 0) this.#later(pauseAfter(written))
  }

  #later(millis: number): void {
    // What still waits when the process ends is flushed then.
    this.#timer ??= setTimeout(writeLater, millis, nobody, this).unref()
  }

  #startThread(): void {
    const now = performance.now()
    if (now - this.#began < between) return
    this.#began = now
    const ended = contained(nobody, () => {
      this.#worker = undefined
      this.#later(gathering)
    })
    const failed = contained(nobody, (error: unknown) => nobody.contain(error))
    try {
      this.#worker = this.#thread().on("error", failed).on("exit", ended)
    } catch (cause) {
      // It may be forbidden, or one too many for the system.
      failed(cause)
    }
  }

  /** It needs nothing else of ours: no flags, no environment. While there is none, lines are written here. */
  #thread(): Worker {
    const workerData: ThreadData = { memory: this.#ring.memory, batch, descriptor: this.#descriptor }
    const worker = startThread("log", { workerData, execArgv: [], env: {}, name: "log" })
    worker.unref()
    return worker
  }

  get #lines(): number {
    return this.#ring.lostFull + this.#ring.lostFailed
  }

  #tellLost(): void {
    const lines = this.#lines - this.#told
    this.#told += lines
    this.#toldAt = performance.now()
    if (lines > 0) this.#tell(lines)
  }
}
