/**
 * Where a request carries a credential: in a header, a query parameter or a cookie. Whoever accepts a credential takes it
 * out again, so that no backend sees it; where the proxy shows one of its own it takes the place of what was there.
 */
import type { RequestHead } from "./message.ts"

export interface Carrier {
  /** The credential; `undefined` when there is none, or an empty one. */
  readonly read: (request: RequestHead) => string | undefined
  /** Takes it out, every repetition of it included. */
  readonly remove: (request: RequestHead) => void
  /** What puts a credential there, in the place of all that was. */
  readonly put: (credential: string) => (request: RequestHead) => void
}

/**
 * The first line of a header. A line that does not begin with `prefix`, whatever its case, carries no credential.
 * @param name in lower case.
 */
export const headerCarrier = (name: string, prefix = ""): Carrier => {
  const lower = prefix.toLowerCase()
  return {
    read: ({ headers }) => {
      const value = headers.get(name)
      if (value === undefined || value.length <= prefix.length) return undefined
      if (!value.startsWith(prefix) && value.slice(0, prefix.length).toLowerCase() !== lower) return undefined
      return value.slice(prefix.length)
    },
    remove: ({ headers }) => headers.delete(name),
    put: (credential) => {
      const value = prefix + credential
      return ({ headers }) => headers.set(name, value)
    }
  }
}

/** The first query parameter of that name, decoded as a form is. Removing it leaves the other parameters as they were sent. */
export const queryCarrier = (name: string): Carrier => {
  const isNamed = (pair: string): boolean => {
    const equals = pair.indexOf("=")
    const key = equals < 0 ? pair : pair.slice(0, equals)
    return key === name || (/[%+]/.test(key) && decoded(key).has(name))
  }
  const remove = (request: RequestHead) => {
    if (request.query === "") return
    const kept = request.query
      .slice(1)
      .split("&")
      .filter((pair) => !isNamed(pair))
    request.pathAndQuery = kept.length > 0 ? `${request.path}?${kept.join("&")}` : request.path
  }
  return {
    read: ({ query }) => {
      if (query.length <= 1) return undefined
      const pair = query.slice(1).split("&").find(isNamed)
      return (pair !== undefined && decoded(pair).get(name)) || undefined
    },
    remove,
    put: (credential) => {
      const pair = new URLSearchParams([[name, credential]]).toString()
      return (request) => {
        remove(request)
        const { query } = request
        request.pathAndQuery += query === "" ? `?${pair}` : query === "?" ? pair : `&${pair}`
      }
    }
  }
}

// Without the ampersand a leading question mark would be dropped.
const decoded = (pair: string) => new URLSearchParams(`&${pair}`)

/** The first cookie of that name in any `cookie` line (RFC 6265 4.2.1). */
export const cookieCarrier = (name: string): Carrier => {
  const isNamed = (pair: string) => pair.slice(0, Math.max(pair.indexOf("="), 0)).trim() === name
  const remove = ({ headers }: RequestHead) => {
    const lines = headers.getAll("cookie").map((line) => line.split(";"))
    headers.delete("cookie")
    for (const line of lines) {
      const kept = line.filter((pair) => !isNamed(pair))
      if (kept.length > 0) headers.add("cookie", kept.join(";").trim())
    }
  }
  return {
    read: ({ headers }) => {
      for (const line of headers.getAll("cookie")) {
        const pair = line.split(";").find(isNamed)
        if (pair !== undefined) return pair.slice(pair.indexOf("=") + 1).trim() || undefined
      }
      return undefined
    },
    remove,
    put: (credential) => {
      const pair = `${name}=${credential}`
      return (request) => {
        remove(request)
        const { headers } = request
        // As one line: not every server reads a second one (RFC 9113 8.2.3).
        headers.set("cookie", [...headers.getAll("cookie"), pair].join("; "))
      }
    }
  }
}
