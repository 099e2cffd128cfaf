/**
 * What a decision reads and may fail to read, and the refusal that this becomes: declared beside whoever decides, printed as
 * `docs/fail-closed.md`, and brought about row by row in `test/fail-closed.test.ts`.
 */
import type { StageError } from "./stage.ts"

/** One thing that a decision reads and may not be able to, and what the client gets then. */
export interface FailedReading {
  /** Who decides, as configuration files name it: `authorization`. */
  readonly by: string
  /** What cannot be read, as a noun: "a body that is no JSON". */
  readonly what: string
  /** What the client gets: the very error where it is always the same. */
  readonly refusal: Refusal
}

export type Refusal = Pick<StageError, "status" | "message" | "content">

/** The same readings, by one who decides. */
export const failedReadings = (
  by: string,
  ...readings: ReadonlyArray<readonly [what: string, refusal: Refusal]>
): ReadonlyArray<FailedReading> => readings.map(([what, refusal]) => ({ by, what, refusal }))
