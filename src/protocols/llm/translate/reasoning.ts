/** How much thinking an effort word buys where a provider wants a number of tokens. */

const budgets: ReadonlyMap<string, number> = new Map([
  ["minimal", 1024],
  ["low", 1024],
  ["medium", 2048],
  ["high", 4096],
  ["xhigh", 8192],
  ["max", 16_384]
])

/** The budget in tokens; `undefined` = no thinking (`none`, no effort, or a word that nobody knows). */
export const thinkingBudget = (effort: string | undefined): number | undefined =>
  effort === undefined ? undefined : budgets.get(effort)
