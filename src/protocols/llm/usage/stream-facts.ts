/** What the stream of an answer told so far. Times are those that the caller passed in, in its unit. */

import type { ResponseFacts } from "./read.ts"
import { mergeUsage, type Usage } from "./usage.ts"

/** Grows as events come; `undefined` is "not yet, or never". */
export interface StreamFacts {
  usage: Usage | undefined
  model: string | undefined
  finish: string | undefined
  /** When the first piece of generated content came by. */
  firstTokenAt: number | undefined
  /** Events with data that came by, the closing mark aside: each brings a token or more, or belongs to the few around them. */
  events: number
  /** The stream reached its own end: what was seen is complete. */
  complete: boolean
  /** The provider reported an error inside the stream. */
  failed: boolean
}

/** Before the first event. */
export const newStreamFacts = (): StreamFacts => ({
  usage: undefined,
  model: undefined,
  finish: undefined,
  firstTokenAt: undefined,
  events: 0,
  complete: false,
  failed: false
})

/** Takes over what one event's JSON states. */
export const addFacts = (facts: StreamFacts, { usage, model, finish }: ResponseFacts): void => {
  if (usage !== undefined) facts.usage = mergeUsage(facts.usage, usage)
  facts.model ??= model
  facts.finish = finish ?? facts.finish
}

/** Mean time between output tokens after the first one came, or `undefined` when the stream does not say enough. */
export const timePerOutputToken = ({ firstTokenAt, usage }: StreamFacts, endedAt: number): number | undefined =>
  firstTokenAt === undefined || !usage?.output ? undefined : (endedAt - firstTokenAt) / usage.output
