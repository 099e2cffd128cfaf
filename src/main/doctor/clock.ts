/** The clock of the machine, against those of the servers that answered. Tokens and certificates depend on it. */
import { type Ailment, error } from "./ailment.ts"

/** A token may be this much older or younger than the clock says. */
const tolerated = 60_000

const spoken = (millis: number): string => {
  const minutes = Math.round(Math.abs(millis) / 60_000)
  return minutes < 120
    ? `${minutes} minutes`
    : minutes < 2880
      ? `${Math.round(minutes / 60)} hours`
      : `${Math.round(minutes / 1440)} days`
}

/** @param ahead by how many milliseconds the clocks of others are ahead. One of several that is wrong is theirs. */
export const clockAilments = (ahead: ReadonlyArray<number>): ReadonlyArray<Ailment> => {
  const median = ahead.toSorted((a, b) => a - b)[Math.floor((ahead.length - 1) / 2)]
  if (median === undefined || Math.abs(median) <= tolerated) return []
  return [
    error(
      "clock",
      `the clock of this machine is ${spoken(median)} ${median > 0 ? "behind" : "ahead of"} ${ahead.length === 1 ? "that of the one server" : `those of the ${ahead.length} servers`} that told the time`,
      "set it, and let it be kept: timedatectl set-ntp true"
    )
  ]
}
