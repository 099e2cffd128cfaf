/** A random choice by weight, for the backends of a route and the targets of a virtual model. */

/** A number from 0 up to but not including 1. */
export type Random = () => number

export interface Weighted<A> {
  /** Its share of the sum of all weights. 0: never chosen. */
  readonly weight: number
  readonly value: A
}

/** Prepares the choice. Without a positive weight it yields `undefined`; with a single one it asks for no random number. */
export const weightedChoice = <A>(choices: ReadonlyArray<Weighted<A>>): ((random: Random) => A | undefined) => {
  const eligible = choices.filter((choice) => choice.weight > 0)
  if (eligible.length < 2) {
    const only = eligible[0]?.value
    return () => only
  }
  const total = eligible.reduce((sum, choice) => sum + choice.weight, 0)
  return (random) => {
    let left = random() * total
    for (const choice of eligible) {
      left -= choice.weight
      if (left < 0) return choice.value
    }
    // Only rounding leads here.
    return eligible.at(-1)!.value
  }
}
