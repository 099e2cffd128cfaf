/** The answer to `GET /v1/models`: what this client may ask for. */
import { allowsName, matchesName, type NamePattern, patternsMeet } from "./name-pattern.ts"

/** `/v1/models`, `/models` and whatever is below them; trailing slashes do not matter. */
export const isModelsPath = (path: string): boolean => {
  const trimmed = path.replace(/\/+$/, "")
  return /^(\/v1)?\/models(\/|$)/.test(trimmed)
}

/** A concrete model as configured. */
export interface ListedModel {
  /** The pattern as configured: what a wildcard is listed under. */
  readonly name: string
  readonly pattern: NamePattern
}

/**
 * The names to list: the models in their given order (public ones that this client is authorized for), then virtual names. Under an
 * allow-list a wildcard is listed as the exact names of the list that it covers, and as itself when a wildcard of the list meets it.
 */
export const listedNames = (
  models: ReadonlyArray<ListedModel>,
  virtualNames: ReadonlyArray<string>,
  allowed: ReadonlyArray<NamePattern> | undefined
): ReadonlyArray<string> => {
  const names = new Set<string>()
  for (const { name, pattern } of models) {
    if (allowed === undefined) names.add(name)
    else if (pattern.type === "exact") {
      if (allowsName(allowed, name)) names.add(name)
    } else {
      for (const one of allowed)
        if (one.type === "exact") {
          if (matchesName(pattern, one.text)) names.add(one.text)
        } else if (patternsMeet(pattern, one)) names.add(name)
    }
  }
  for (const name of virtualNames) if (allowsName(allowed, name)) names.add(name)
  return [...names]
}

/** The body; `created` in Unix seconds. Every model is owned by "openai": clients of that API expect a name they know. */
export const modelList = (names: ReadonlyArray<string>, created: number): string =>
  JSON.stringify({
    data: names.map((id) => ({ id, object: "model", created, owned_by: "openai" })),
    object: "list"
  })
