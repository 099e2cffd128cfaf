/** The address of a value inside a configuration: `routes[2].policies.cors`, or `methods["tools/call"]` where a key is not a plain name. */

/** Keys and list indexes from the root of the file to a value. */
export type Path = ReadonlyArray<string | number>

const plainKey = /^[A-Za-z_$][\w$-]*$/

/** Writes a path the way it appears in messages; the root is the empty string. */
export const formatPath = (path: Path): string => {
  let out = ""
  for (const part of path) {
    if (typeof part === "number") out += `[${part}]`
    else if (!plainKey.test(part)) out += `[${JSON.stringify(part)}]`
    else out += out === "" ? part : `.${part}`
  }
  return out
}

const step = /\.?([A-Za-z_$][\w$-]*)|\[(\d+)\]|\[("(?:[^"\\]|\\.)*")\]/y

const unquote = (json: string): string | undefined => {
  try {
    return JSON.parse(json) as string
  } catch {
    return undefined
  }
}

/** Reads what `formatPath` wrote. Text that is no path ends at its last readable step. */
export const parsePath = (text: string): Path => {
  const path: Array<string | number> = []
  step.lastIndex = 0
  while (step.lastIndex < text.length) {
    const match = step.exec(text)
    if (match === null) break
    const [, key, index, quoted] = match
    const part = key ?? (index === undefined ? unquote(quoted ?? "") : Number(index))
    if (part === undefined) break
    path.push(part)
  }
  return path
}
