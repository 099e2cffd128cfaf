/** What of a request logs and traces show as `<redacted>`, because a credential stands there. */
import { type CredentialLocation, locationKeys } from "../../spec/location.ts"
import { alwaysSensitiveHeaders, isSensitiveParameter } from "../cel/bindings.ts"

export interface Hidden {
  /** Lower-case names of headers, beyond those that always carry credentials. */
  readonly headers: ReadonlySet<string>
  /** Names of query parameters, beyond those that always do. */
  readonly parameters: ReadonlySet<string>
  /** By key of the configuration that may hold a secret, what is shown in its place. */
  readonly keys: ReadonlyMap<string, string>
}

/** The headers and parameters in which credentials stand, by any part of a decoded configuration. */
export const placesOf = (config: unknown): { readonly headers: Set<string>; readonly parameters: Set<string> } => {
  const headers = new Set<string>()
  const parameters = new Set<string>()
  const visit = (value: unknown): void => {
    if (typeof value !== "object" || value === null) return
    for (const [key, inner] of Object.entries(value)) {
      if (locationKeys.has(key)) {
        // What has such a key may be anything: metadata is free.
        const place = inner as Partial<CredentialLocation> | null | undefined
        if (typeof place?.header?.name === "string") headers.add(place.header.name.toLowerCase())
        if (typeof place?.queryParameter?.name === "string") parameters.add(place.queryParameter.name)
      }
      visit(inner)
    }
  }
  visit(config)
  return { headers, parameters }
}

export const nothingHidden: Hidden = { headers: new Set(), parameters: new Set(), keys: new Map() }

const instead = "<redacted>"

/** @param name in lower case. */
export const isHidden = (name: string, { headers }: Hidden): boolean =>
  alwaysSensitiveHeaders.has(name) || headers.has(name)

/** A URI, or a path and query, without the values of hidden parameters. */
export const shownUri = (uri: string, hidden: Hidden): string => {
  const query = uri.indexOf("?") + 1
  return query === 0 ? uri : shownPairs(uri, query, hidden)
}

/** The value of a header, which may hold an address: of user information and of what follows a `#`, too, no credential is shown. */
export const shownValue = (value: string, hidden: Hidden): string => {
  const shown = value.includes("://") ? value.replace(userInfo, `$1${instead}@`) : value
  const query = shown.search(/[?#]/) + 1
  return query === 0 ? shown : shownPairs(shown, query, hidden)
}

const userInfo = /(:\/\/)[^/?#\s]*@/g

const isSeparator = (code: number): boolean => code === 0x26 || code === 0x3b || code === 0x3f || code === 0x23

/** Pairs of a query that are decoded to be looked at; the values of any more are hidden. */
const mostDecoded = 100

/** @param from where the first pair begins. */
const shownPairs = (text: string, from: number, { parameters }: Hidden): string => {
  let out = ""
  let copied = 0
  let decodings = 0
  for (let start = from; start < text.length; ) {
    let end = start
    let equals = -1
    let encoded = 0
    for (; end < text.length; end++) {
      const code = text.charCodeAt(end)
      if (isSeparator(code)) break
      if (code === 0x3d && equals === -1) equals = end
      else if (code === 0x25 || code === 0x2b) encoded = 1
    }
    decodings += encoded
    if (
      equals !== -1 &&
      (encoded * decodings > mostDecoded ||
        isHiddenPair(text.slice(start, equals), text.slice(equals + 1, end), parameters))
    ) {
      out += text.slice(copied, equals + 1) + instead
      copied = end
    }
    start = end + 1
  }
  return copied === 0 ? text : out + text.slice(copied)
}

/** Hides what a parameter says by its name, and an address that it says, where one goes on afterwards, by those in there. */
const isHiddenPair = (name: string, value: string, parameters: Hidden["parameters"]): boolean => {
  if (isCredential(decoded(name), parameters)) return true
  if (!/[=@]|%(?:3d|40|25)/i.test(value)) return false
  const address = decodedWholly(value)
  if (address.search(userInfo) !== -1) return true
  return address.split(/[?#&;]/).some((pair) => isCredential(pair.slice(0, Math.max(pair.indexOf("="), 0)), parameters))
}

/** Forms write the members of a value as `user[password]`, and lists as `token[]`. */
const isCredential = (name: string, parameters: Hidden["parameters"]): boolean =>
  isSensitiveParameter(name, parameters) ||
  (name.endsWith("]") && name.split(/[[\]]+/).some((part) => isSensitiveParameter(part, parameters)))

const decoded = (text: string): string => (/[%+]/.test(text) ? (new URLSearchParams(`a=${text}`).get("a") ?? "") : text)

/** An address in a parameter of an address is encoded once more each time. */
const decodedWholly = (text: string): string => {
  let inner = text
  for (let times = 0; times < 4; times++) {
    const before = inner
    inner = decoded(before.replaceAll("&", "%26"))
    if (inner === before) break
  }
  return inner
}
