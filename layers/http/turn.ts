/**
 * What is written in one turn of the event loop leaves at its end, all of it together. The peer that is written to first wakes
 * up and is still awake for what follows; of writes that are spread over the turn each one wakes somebody, which costs about
 * as much as the write (docs/decisions/writes-of-a-turn.md).
 */
import { type Container, containing, nobody } from "../../src/services/contained.ts"

/** Whatever has something to write. */
export interface Departing extends Container {
  /** Writes it, unless it is not wanted any more. */
  readonly depart: () => void
}

let departing: Array<Departing> = []

/** Calls `depart` when everything has been read that there was to read. */
export const atEndOfTurn = (one: Departing): void => {
  if (departing.push(one) === 1) setImmediate(departAll, nobody)
}

const depart = containing((one: Departing) => one.depart())

const departAll = containing(() => {
  const all = departing
  departing = []
  for (const one of all) depart(one)
})
