/** Model aliases of an AI policy: names that clients use for names that the provider knows. */

/** Whether `name` is made of the literal parts in this order, the first at its start, the last at its end. Linear, unlike a regex. */
const matchesParts = (parts: ReadonlyArray<string>, name: string): boolean => {
  const first = parts[0]!
  const last = parts[parts.length - 1]!
  if (name.length < first.length + last.length || !name.startsWith(first) || !name.endsWith(last)) return false
  let at = first.length
  const end = name.length - last.length
  for (let i = 1; i < parts.length - 1; i++) {
    const part = parts[i]!
    const found = name.indexOf(part, at)
    if (found === -1 || found + part.length > end) return false
    at = found + part.length
  }
  return true
}

/** Compiles the map: exact keys first, then keys with wildcards (`*` for any text, anywhere), the longest first. Others stay as they are. */
export const compileAliases = (aliases: Readonly<Record<string, string>>): ((model: string) => string) => {
  const exact = new Map(Object.entries(aliases).filter(([key]) => !key.includes("*")))
  const wildcards = Object.entries(aliases)
    .filter(([key]) => key.includes("*"))
    .sort(([a], [b]) => b.length - a.length || (a < b ? -1 : 1))
    .map(([key, value]) => [key.split("*"), value] as const)
  return (model) => exact.get(model) ?? wildcards.find(([parts]) => matchesParts(parts, model))?.[1] ?? model
}
