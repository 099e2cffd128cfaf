/** The log filter: a comma list of a default level and `target=level` directives; the longest matching target wins. */
import { type Level, levels } from "../../src/services/log.ts"

export interface Filter {
  readonly text: string
  readonly levelOf: (target: string) => Level
}

interface Directive {
  readonly target: string
  readonly level: Level
}

const isLevel = (text: string): text is Level => (levels as ReadonlyArray<string>).includes(text)

/** Both `target=level` and `target:level` are understood; a bare word is the default level. */
const parseDirective = (text: string): Directive | undefined => {
  const match = /^(?:([A-Za-z0-9_./:-]+?)[=:])?([a-z]+)$/.exec(text.trim())
  const level = match?.[2]
  return level !== undefined && isLevel(level) ? { target: match?.[1] ?? "", level } : undefined
}

/** Reads directives; a later one for the same target replaces an earlier one. `undefined` when one is malformed. */
export const parseFilter = (text: string): Filter | undefined => {
  const byTarget = new Map<string, Level>([["", "info"]])
  for (const part of text.split(",")) {
    if (part.trim() === "") continue
    const directive = parseDirective(part)
    if (directive === undefined) return undefined
    byTarget.set(directive.target, directive.level)
  }
  const targets = [...byTarget].filter(([target]) => target !== "").sort(([a], [b]) => b.length - a.length)
  const cache = new Map<string, Level>()
  return {
    text: [byTarget.get("")!, ...targets.map(([target, level]) => `${target}=${level}`)].join(","),
    levelOf: (target) => {
      let level = cache.get(target)
      if (level === undefined) {
        level = targets.find(([prefix]) => target.startsWith(prefix))?.[1] ?? byTarget.get("")!
        // Targets are names in the source, so this map cannot grow without bound.
        cache.set(target, level)
      }
      return level
    }
  }
}
