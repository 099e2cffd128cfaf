/**
 * What is shown in place of a key that nobody meant as one: `{ key:$TEAM_A_KEY }` without its blank is a key that holds a
 * secret. Keys that the schema knows by name are shown as they are.
 */
import type { Entry } from "./document.ts"
import { type Expanded, toSource } from "./expand.ts"
import { looksSecret } from "./looks-secret.ts"
import { nearest } from "./nearest.ts"
import type { Shape } from "./shape.ts"

/** A key that the schema does not know by name. */
export interface UnnamedKey {
  readonly key: string
  readonly entry: Entry
  /** What belongs beside it. */
  readonly among: Shape | undefined
}

const cut = "…"

/** By key, what stands for it. @param text the original one. */
export const disguisesOf = (
  keys: ReadonlyArray<UnnamedKey>,
  expanded: Expanded,
  text: string
): ReadonlyMap<string, string> => {
  const disguises = new Map<string, string>()
  for (const each of keys) {
    const { keyStart, keyEnd } = each.entry
    const shown = disguise(each, text.slice(toSource(expanded, keyStart), toSource(expanded, keyEnd, "end")))
    if (shown !== each.key) disguises.set(each.key, shown)
  }
  return disguises
}

const disguise = ({ key, entry, among }: UnnamedKey, written: string): string => {
  // References are shown in place of their values, but not what they say for want of one, nor much that stands beside them.
  const text = written.replace(/^(["'])(.*)\1$/s, "$2")
  const isReferred = text !== key
  if (isReferred && /^[\w./-]*:?$/.test(text.replace(reference, "")) && !looksSecret(text))
    return text.replace(/:-[^}]*\}/g, `:-${cut}}`)
  const name = withoutBlank.exec(text)?.[1]
  if (name !== undefined) return `${name}:${cut}`
  if (isReferred || looksSecret(key)) return cut
  // Without a value, beside a secret or in place of one: it may be the secret itself that lost its key.
  const valueless = entry.node.scalar === null && entry.node.start === entry.node.end
  const guarded = among !== undefined && (among.holdsSecret || among.property(key)?.secret === true)
  return valueless && guarded && nearest(key, among.keys) === undefined ? cut : key
}

const reference = /\$(?:[A-Za-z_]\w*|\{[^}\n]*\})/g

/** A key with what belongs behind its colon. Addresses, and hosts with a port, are keys of their own. */
export const withoutBlank = /^([A-Za-z_][\w-]*):(?=\S)(?!\/\/|\d{1,5}$)/
