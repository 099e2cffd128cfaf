/** Which configured model serves a requested name: the most specific pattern first, the order of the file among equals. */
import { matchesName, type NamePattern, specificity } from "./name-pattern.ts"

/** What selection needs to know of a model. */
export interface NamedModel {
  readonly pattern: NamePattern
}

/** What the router thinks of a model whose name matches: not meant (headers, visibility), not allowed, or the one. */
export type Opinion = "skip" | "deny" | "take"

/** The outcome. */
export type Selection<M> =
  | { readonly type: "found"; readonly model: M }
  /** Some model matched and none was allowed. */
  | { readonly type: "denied" }
  | { readonly type: "missing" }

const denied = { type: "denied" } as const
const missing = { type: "missing" } as const

/** The configured models, ready for lookups. */
export interface ModelIndex<M> {
  /** In the order in which they are tried. */
  readonly models: ReadonlyArray<M>
  /** The first model that matches `name` and that `opinion` takes. Exact names cost a lookup, only wildcards are tried one by one. */
  readonly select: (name: string, opinion: (model: M) => Opinion) => Selection<M>
}

interface Ranked<M> {
  readonly rank: number
  readonly model: M
}

/** Sorts and indexes the models once. */
export const indexModels = <M extends NamedModel>(configured: ReadonlyArray<M>): ModelIndex<M> => {
  const models = configured.toSorted((a, b) => specificity(b.pattern) - specificity(a.pattern))
  const exact = new Map<string, Array<Ranked<M>>>()
  const wildcards: Array<Ranked<M>> = []
  models.forEach((model, rank) => {
    const { pattern } = model
    if (pattern.type !== "exact") wildcards.push({ rank, model })
    else exact.set(pattern.text, [...(exact.get(pattern.text) ?? []), { rank, model }])
  })
  const none: ReadonlyArray<Ranked<M>> = []

  return {
    models,
    select: (name, opinion) => {
      const named = exact.get(name) ?? none
      let refused = false
      // Both lists are in order of rank: walk them as one.
      for (let e = 0, w = 0; e < named.length || w < wildcards.length; ) {
        const next = e < named.length && (w === wildcards.length || named[e]!.rank < wildcards[w]!.rank)
        const { model } = next ? named[e++]! : wildcards[w++]!
        if (!next && !matchesName(model.pattern, name)) continue
        switch (opinion(model)) {
          case "take":
            return { type: "found", model }
          case "deny":
            refused = true
        }
      }
      return refused ? denied : missing
    }
  }
}
