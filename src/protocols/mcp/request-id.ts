/**
 * Ids of requests from targets to the client: several targets may use the same ones, so each is wrapped as
 * `hg_<target>_<n|s>_<id>`. All that is needed to route the reply is in the id; no table has to remember it, and any
 * process that holds the session can take the reply. Progress tokens of such requests are wrapped in the same way.
 */
import type { RpcId } from "./envelope.ts"

const prefix = "hg_"

/** What a wrapped id says. */
export interface WrappedId {
  readonly target: string
  /** The original id as JSON text, a number as number and a string as string. */
  readonly id: string
}

/** `text` is the id as the target wrote it: a number keeps its exact digits. */
export const wrapId = (target: string, id: RpcId, text: string): string =>
  typeof id === "string" ? `${prefix}${target}_s_${id}` : `${prefix}${target}_n_${text}`

const numeric = /^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?$/

/** `undefined` for an id that was never wrapped. */
export const unwrapId = (id: RpcId): WrappedId | undefined => {
  if (typeof id !== "string" || !id.startsWith(prefix)) return undefined
  const end = id.indexOf("_", prefix.length)
  if (end <= prefix.length || id[end + 2] !== "_") return undefined
  const original = id.slice(end + 3)
  const target = id.slice(prefix.length, end)
  const tag = id[end + 1]
  if (tag === "s") return { target, id: JSON.stringify(original) }
  return tag === "n" && numeric.test(original) ? { target, id: original } : undefined
}
