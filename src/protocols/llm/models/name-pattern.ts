/** Patterns of model names: one `*` at either end, or alone; anything else is meant literally. */

export type NamePattern =
  | { readonly type: "exact"; readonly text: string }
  | { readonly type: "prefix"; readonly text: string }
  | { readonly type: "suffix"; readonly text: string }
  | { readonly type: "any" }

/** The pattern, or `undefined` when a `*` stands where none may. */
export const parsePattern = (text: string): NamePattern | undefined => {
  const star = text.indexOf("*")
  if (star === -1) return { type: "exact", text }
  if (star !== text.lastIndexOf("*")) return undefined
  if (text === "*") return { type: "any" }
  if (star === text.length - 1) return { type: "prefix", text: text.slice(0, -1) }
  return star === 0 ? { type: "suffix", text: text.slice(1) } : undefined
}

export const matchesName = (pattern: NamePattern, name: string): boolean => {
  switch (pattern.type) {
    case "exact":
      return name === pattern.text
    case "prefix":
      return name.startsWith(pattern.text)
    case "suffix":
      return name.endsWith(pattern.text)
    case "any":
      return true
  }
}

/** The number of characters that are not the wildcard: more of them make a pattern more specific. */
export const specificity = (pattern: NamePattern): number => (pattern.type === "any" ? 0 : pattern.text.length)

/** Whether some name matches both. Two wildcards at opposite ends always meet: the name is one text and then the other. */
export const patternsMeet = (a: NamePattern, b: NamePattern): boolean => {
  if (a.type === "exact") return matchesName(b, a.text)
  if (b.type === "exact") return matchesName(a, b.text)
  if (a.type === "prefix" && b.type === "prefix") return a.text.startsWith(b.text) || b.text.startsWith(a.text)
  if (a.type === "suffix" && b.type === "suffix") return a.text.endsWith(b.text) || b.text.endsWith(a.text)
  return true
}

/** Whether an allow-list lets a name pass. No list allows everything, an empty one nothing. */
export const allowsName = (allowed: ReadonlyArray<NamePattern> | undefined, name: string): boolean =>
  allowed === undefined || allowed.some((pattern) => matchesName(pattern, name))
