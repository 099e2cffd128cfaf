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

/** The URI, or the path and query, without the values of hidden parameters. */
export const shownUri = (uri: string, { parameters }: Hidden): string => {
  const query = uri.indexOf("?") + 1
  if (parameters.size === 0 || query === 0) return uri
  const pairs = uri
    .slice(query)
    .split("&")
    .map((pair) => {
      const equals = pair.indexOf("=")
      return equals >= 0 && parameters.has(decoded(pair.slice(0, equals)))
        ? `${pair.slice(0, equals)}=<redacted>`
        : pair
    })
  return uri.slice(0, query) + pairs.join("&")
}

// Without the ampersand a leading question mark would be dropped.
const decoded = (name: string): string =>
  /[%+]/.test(name) ? ([...new URLSearchParams(`&${name}`).keys()][0] ?? "") : name
