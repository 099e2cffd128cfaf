/** Which origins a CORS policy admits: exact ones, wildcards within the host, or all. */

interface Origin {
  readonly scheme: string
  readonly host: string
  readonly port: number
}

const shape = /^(https?):\/\/([^/?#@:]+|\[[0-9a-f:.]+\])(?::([0-9]{1,5}))?$/

/** Scheme, host and port of an origin; only http and https, the default port filled in. */
const parseOrigin = (text: string): Origin | undefined => {
  const match = shape.exec(text.toLowerCase())
  if (match === null) return undefined
  const port = match[3] === undefined ? (match[1] === "https" ? 443 : 80) : Number(match[3])
  return port >= 1 && port <= 65_535 ? { scheme: match[1]!, host: match[2]!, port } : undefined
}

/** Matches a host against a pattern in which `*` stands for any characters; linear, without a regular expression. */
const hostMatches = (pattern: ReadonlyArray<string>, host: string): boolean => {
  if (pattern.length === 1) return pattern[0] === host
  const first = pattern[0]!
  const last = pattern.at(-1)!
  if (host.length < first.length + last.length || !host.startsWith(first) || !host.endsWith(last)) return false
  let from = first.length
  const end = host.length - last.length
  for (const part of pattern.slice(1, -1)) {
    const at = host.indexOf(part, from)
    if (at < 0 || at + part.length > end) return false
    from = at + part.length
  }
  return true
}

export type Origins = (origin: string) => boolean

/** Compiles a list of allowed origins. Problems name the index of an entry that is no origin. */
export const compileOrigins = (
  allowed: ReadonlyArray<string>
): { readonly admits: Origins; readonly invalid: ReadonlyArray<number> } => {
  if (allowed.includes("*")) return { admits: () => true, invalid: [] }
  const invalid: Array<number> = []
  const patterns = allowed.flatMap((text, index) => {
    const origin = parseOrigin(text)
    if (origin === undefined) invalid.push(index)
    return origin === undefined ? [] : [{ ...origin, host: origin.host.split("*") }]
  })
  // What browsers send is most often what stands there, letter by letter.
  const literal = new Set(allowed)
  const admits: Origins = (text) => {
    if (literal.has(text)) return true
    const origin = parseOrigin(text)
    return (
      origin !== undefined &&
      patterns.some((p) => p.scheme === origin.scheme && p.port === origin.port && hostMatches(p.host, origin.host))
    )
  }
  return { admits, invalid }
}
