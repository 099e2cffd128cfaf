/** The built-in `mock` provider: answers without a model, the same ones every time, for examples, tests and load. */

export interface MockSettings {
  /** Other seeds give other answers and other failures. */
  readonly seed: number
  /** Milliseconds until the answer starts. */
  readonly latencyMs: number
  /** Speed of generation; 0 generates at once. */
  readonly tokensPerSecond: number
  /** The share of calls that fail, from 0 to 1. */
  readonly failureRate: number
}

export const defaultMockSettings: MockSettings = { seed: 0, latencyMs: 0, tokensPerSecond: 0, failureRate: 0 }

/** Where a call stands in time and in the series of calls: passed in, because nothing here has a clock or a counter. */
export interface MockCall {
  /** Unix seconds, for `created`. */
  readonly now: number
  /** A number of the call, so that failures are spread over equal requests as well. */
  readonly sequence: number
}

/** Bytes at a time after the start of the call, in milliseconds. */
export interface TimedChunk {
  readonly atMs: number
  readonly text: string
}

/** The whole answer, or the events of a stream in order of time. */
export type MockReply =
  | { readonly type: "json"; readonly status: number; readonly afterMs: number; readonly body: string }
  | { readonly type: "stream"; readonly chunks: ReadonlyArray<TimedChunk> }
