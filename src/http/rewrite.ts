/** Rewriting of paths and authorities, as redirects and rewrites share it (Gateway API HTTPPathModifier, HTTPRequestRedirect). */
import { hostOf, type RequestHead, type Scheme } from "./message.ts"

/** Replaces the whole path, or the prefix by which the route was matched. The query is kept. */
export type PathReplacement = { readonly full: string } | { readonly prefix: string }

/** How an authority is replaced. `auto`: by the backend's own name; `none`: not at all. */
export type AuthorityReplacement =
  | { readonly full: string }
  | { readonly host: string }
  | { readonly port: number }
  | "auto"
  | "none"

/** The new path and query; `undefined` when a prefix is to be replaced but none was matched. */
export const rewritePath = (
  head: RequestHead,
  rewrite: PathReplacement,
  matchedPrefix: string | undefined
): string | undefined => {
  if ("full" in rewrite) return (rewrite.full.startsWith("/") ? rewrite.full : `/${rewrite.full}`) + head.query
  if (matchedPrefix === undefined) return undefined
  const matched = matchedPrefix.endsWith("/") ? matchedPrefix.slice(0, -1) : matchedPrefix
  // The whole server has no path that could stand behind a prefix (RFC 9112 3.2.4).
  const remainder = head.path === "*" ? "" : head.path.slice(matched.length)
  const prefix = rewrite.prefix.endsWith("/") ? rewrite.prefix.slice(0, -1) : rewrite.prefix
  const path =
    remainder === "" ? rewrite.prefix : remainder.startsWith("/") ? prefix + remainder : `${prefix}/${remainder}`
  return (path === "" ? "/" : path.startsWith("/") ? path : `/${path}`) + head.query
}

const portOf = (authority: string): string => authority.slice(hostOf(authority).length)

/**
 * The new authority.
 * @param dropsPort whether the old port means nothing any more.
 */
export const rewriteAuthority = (
  authority: string,
  rewrite: AuthorityReplacement | undefined,
  scheme: Scheme,
  dropsPort: boolean
): string => {
  const kept = dropsPort ? "" : portOf(authority)
  if (rewrite === undefined || rewrite === "auto" || rewrite === "none") return hostOf(authority) + kept
  if ("full" in rewrite) return rewrite.full
  if ("host" in rewrite) return rewrite.host + kept
  return rewrite.port === (scheme === "https" ? 443 : 80) ? hostOf(authority) : `${hostOf(authority)}:${rewrite.port}`
}
