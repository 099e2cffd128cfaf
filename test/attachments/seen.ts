/** What a request that was played in memory shows of the policies that were in force for it. */
import type { Played } from "../../src/main/testing.ts"

/** Headers by name; the last of several. */
export const textHeaders = (flat: ReadonlyArray<string>): Readonly<Record<string, string>> => {
  const pairs: Array<readonly [string, string]> = []
  for (let i = 0; i < flat.length; i += 2) pairs.push([flat[i]!, flat[i + 1]!])
  return Object.fromEntries(pairs)
}

/** What the trace says of each phase that the request reached. */
export const effectiveOf = ({ events }: Played): Readonly<Record<string, Readonly<Record<string, unknown>>>> =>
  Object.fromEntries(
    events.flatMap(({ message }) =>
      message.type === "policySelection" ? [[message.phase, message.effectivePolicy]] : []
    )
  )
