/** What of a request logs and traces show as `<redacted>`, because a credential stands there. */
import { alwaysSensitiveHeaders } from "../cel/bindings.ts"

export interface Hidden {
  /** Lower-case names of headers, beyond those that always carry credentials. */
  readonly headers: ReadonlySet<string>
  /** Names of query parameters. */
  readonly parameters: ReadonlySet<string>
}

export const nothingHidden: Hidden = { headers: new Set(), parameters: new Set() }

/** @param name in lower case. */
export const isHidden = (name: string, { headers }: Hidden): boolean =>
  alwaysSensitiveHeaders.has(name) || headers.has(name)

/** A URI, a path and query, or a header that holds one, without the values of hidden parameters. */
export const shownUri = (uri: string, { parameters }: Hidden): string => {
  const query = uri.indexOf("?") + 1
  if (parameters.size === 0 || query === 0) return uri
  const pairs = uri
    .slice(query)
    .split("&")
    .map((pair) => {
      const equals = pair.indexOf("=")
      return equals >= 0 && isHiddenPair(pair.slice(0, equals), pair.slice(equals + 1), parameters)
        ? `${pair.slice(0, equals)}=<redacted>`
        : pair
    })
  return uri.slice(0, query) + pairs.join("&")
}

/** Hides what a parameter says by its name, and an address that it says, where one goes on afterwards, by those in there. */
const isHiddenPair = (name: string, value: string, parameters: Hidden["parameters"]): boolean => {
  if (parameters.has(decoded(name))) return true
  if (!/\?|%3f/i.test(value)) return false
  const address = decoded(value)
  return [...new URLSearchParams(address.slice(address.indexOf("?") + 1)).keys()].some((inner) => parameters.has(inner))
}

const decoded = (text: string): string => (/[%+]/.test(text) ? (new URLSearchParams(`a=${text}`).get("a") ?? "") : text)
