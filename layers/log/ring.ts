/**
 * Lines on their way from the thread that makes them to the one that writes them: bytes in memory that both share, a bound
 * for those that wait, and a count of those that were lost. One thread adds and one takes; they may be the same.
 */

/** The words of the head. Positions are bytes since the ring was last empty, modulo 2^32. */
const added = 0
const taken = 1
/** Whether the thread that takes sleeps, because nothing waits. */
const rest = 2
/** Changes when the thread that takes is to gather no longer. */
const urgency = 3
/** Lines that found no room, and lines that could not be written. */
const lostFull = 4
const lostFailed = 5
/** How often writing failed. */
const failures = 6
/** 1 when the beginning of the first line that waits was written already. */
const begun = 7
const headBytes = 64

/** What `rest` says: the thread that takes is awake; it sleeps; the positions are being set back, and then it will be woken. */
const awake = 0
const asleep = 1
const rewinding = 2

const lineEnd = 0x0a

export class Ring {
  /** What is shared: a ring made over it is the same ring. */
  readonly memory: SharedArrayBuffer
  readonly #head: Int32Array
  readonly #bytes: Buffer
  readonly #batch: number
  #urgencySeen = 0

  /**
   * @param memory that of the same ring elsewhere, or how many bytes may wait: a power of two. The system gives it page by
   * page, when it is first used.
   * @param batch so many bytes are worth writing at once.
   */
  constructor(memory: SharedArrayBuffer | number, batch: number) {
    this.memory = typeof memory === "number" ? new SharedArrayBuffer(headBytes + memory) : memory
    this.#head = new Int32Array(this.memory, 0, headBytes / 4)
    this.#bytes = Buffer.from(this.memory, headBytes)
    this.#batch = batch
  }

  /** Bytes that wait. */
  get waiting(): number {
    return (Atomics.load(this.#head, added) - Atomics.load(this.#head, taken)) >>> 0
  }

  /** Lines that were lost because too many waited. */
  get lostFull(): number {
    return this.#head[lostFull]! >>> 0
  }

  /** Lines that were lost because the system refused them. */
  get lostFailed(): number {
    return this.#head[lostFailed]! >>> 0
  }

  /** How often writing failed. */
  get failures(): number {
    return Atomics.load(this.#head, failures)
  }

  /** Adds a line, with its end, or counts it as lost. Says whether that makes a batch. */
  add(line: string): boolean {
    const head = this.#head
    if (Atomics.load(head, rest) === asleep && Atomics.compareExchange(head, rest, asleep, rewinding) === asleep)
      this.rewind()
    const before = this.waiting
    const bytes = this.#put(line, before)
    // Whoever goes to sleep says so before it looks for the last time, and here it is the other way round: one sees the other.
    if (Atomics.load(head, rest) !== awake) {
      Atomics.store(head, rest, awake)
      Atomics.notify(head, rest)
    }
    return before < this.#batch && before + bytes >= this.#batch
  }

  /** Begins at the beginning again when nothing waits, so that little memory is used. For when nobody takes. */
  rewind(): void {
    if (this.waiting > 0) return
    Atomics.store(this.#head, taken, 0)
    Atomics.store(this.#head, added, 0)
  }

  #put(line: string, waiting: number): number {
    const size = this.#bytes.length
    const free = size - waiting
    const position = this.#head[added]!
    const offset = position & (size - 1)
    const most = line.length * 3
    let length: number
    if (most <= free && offset + most <= size) length = this.#bytes.write(line, offset)
    else {
      const bytes = Buffer.from(line)
      length = bytes.length
      if (length > free) {
        this.#head[lostFull]!++
        return 0
      }
      const copied = bytes.copy(this.#bytes, offset)
      bytes.copy(this.#bytes, 0, copied)
    }
    Atomics.store(this.#head, added, position + length)
    return length
  }

  /** Sleeps until something waits. */
  sleep(): void {
    const head = this.#head
    Atomics.store(head, rest, asleep)
    if (this.waiting > 0 && Atomics.compareExchange(head, rest, asleep, awake) === asleep) return
    for (let state = Atomics.load(head, rest); state !== awake; state = Atomics.load(head, rest))
      Atomics.wait(head, rest, state)
  }

  /** Waits for more to come, unless it is urged to take what there is. */
  gather(millis: number): void {
    Atomics.wait(this.#head, urgency, this.#urgencySeen, millis)
    this.#urgencySeen = Atomics.load(this.#head, urgency)
  }

  /** Ends the gathering. */
  urge(): void {
    Atomics.add(this.#head, urgency, 1)
    Atomics.notify(this.#head, urgency)
  }

  /** The first bytes that wait, as far as they lie in one piece. */
  next(most: number): Uint8Array {
    const offset = this.#head[taken]! & (this.#bytes.length - 1)
    return this.#bytes.subarray(offset, Math.min(this.#bytes.length, offset + Math.min(most, this.waiting)))
  }

  /** So many of them were written. */
  take(length: number): void {
    if (length === 0) return
    const position = this.#head[taken]! + length
    this.#head[begun] = this.#at(position - 1) === lineEnd ? 0 : 1
    Atomics.store(this.#head, taken, position)
  }

  /** Nothing that waits can be written: it is lost, but for the rest of a line whose beginning was written. */
  fail(): void {
    const end = Atomics.load(this.#head, added)
    const start = this.#head[taken]!
    let kept = 0
    if (this.#head[begun] === 1) while (this.#at(start + kept++) !== lineEnd);
    const lines = this.#linesIn(start + kept, end)
    for (let back = 1; back <= kept; back++)
      this.#bytes[(end - back) & (this.#bytes.length - 1)] = this.#at(start + kept - back)
    Atomics.store(this.#head, taken, end - kept)
    Atomics.add(this.#head, lostFailed, lines)
    Atomics.add(this.#head, failures, 1)
  }

  #linesIn(start: number, end: number): number {
    const size = this.#bytes.length
    let lines = 0
    for (let position = start | 0; position !== end; ) {
      const offset = position & (size - 1)
      const stop = Math.min(size, offset + ((end - position) >>> 0))
      // All that lies in one piece; a line that goes on at the beginning has its end there.
      for (
        let at = this.#bytes.indexOf(lineEnd, offset);
        at >= 0 && at < stop;
        at = this.#bytes.indexOf(lineEnd, at + 1)
      )
        lines++
      position = (position + stop - offset) | 0
    }
    return lines
  }

  #at(position: number): number {
    return this.#bytes[position & (this.#bytes.length - 1)]!
  }
}
