/** Header fields as a map of the language, backed by the flat list they arrived in. */
import { alwaysSensitiveHeaders } from "./bindings.ts"
import type { RawHeaders } from "./schema.ts"
import { CelList, type CelValue, MapView, redacted } from "./value.ts"

/**
 * How a field is shown: `text` one line as a string and several as a list (the default), `join` the lines joined with commas, `raw` always a
 * list of the lines, `split` a list of the comma-separated parts.
 */
type HeaderForm = "text" | "join" | "raw" | "split"

/** One field of a header list in a form; `undefined` where no line has the name. Names are in lower case on both sides. */
export const headerField = (headers: RawHeaders, name: string, form: HeaderForm = "text"): CelValue | undefined => {
  let first: string | undefined
  let lines: Array<string> | undefined
  for (let i = 0; i < headers.length; i += 2) {
    if (headers[i] !== name) continue
    const line = headers[i + 1]!
    if (first === undefined) first = line
    else if (lines === undefined) lines = [first, line]
    else lines.push(line)
  }
  if (first === undefined) return undefined
  if (form === "text") return lines === undefined ? first : new CelList(lines)
  lines ??= [first]
  if (form === "raw") return new CelList(lines)
  if (form === "join") return lines.join(",")
  return new CelList(lines.flatMap((line) => line.split(",").map((part) => part.trim())))
}

/** Whether a line has the name. */
export const hasHeader = (headers: RawHeaders, name: string): boolean => {
  for (let i = 0; i < headers.length; i += 2) if (headers[i] === name) return true
  return false
}

export class HeadersView extends MapView {
  readonly headers: RawHeaders
  readonly sensitive: ReadonlySet<string> | undefined
  readonly #form: HeaderForm
  readonly #hide: boolean

  constructor(
    headers: RawHeaders,
    sensitive: ReadonlySet<string> | undefined,
    form: HeaderForm = "text",
    hide = false
  ) {
    super()
    this.headers = headers
    this.sensitive = sensitive
    this.#form = form
    this.#hide = hide
  }

  get(key: string): CelValue | undefined {
    const name = key.toLowerCase()
    const value = headerField(this.headers, name, this.#form)
    return value !== undefined && this.#hide && isSensitive(name, this.sensitive) ? hidden(value) : value
  }

  keys(): Array<string> {
    const names = new Set<string>()
    for (let i = 0; i < this.headers.length; i += 2) names.add(this.headers[i]!)
    return [...names]
  }

  /** The same fields in another form; the last form asked for holds. */
  as(form: HeaderForm): HeadersView {
    return new HeadersView(this.headers, this.sensitive, form, this.#hide)
  }

  /** The same fields with the values of the sensitive ones replaced. */
  redacted(): HeadersView {
    return new HeadersView(this.headers, this.sensitive, this.#form, true)
  }

  /** A cookie by name, the first one if several have it. */
  cookie(name: string): string | undefined {
    for (let i = 0; i < this.headers.length; i += 2) {
      if (this.headers[i] !== "cookie") continue
      for (const pair of this.headers[i + 1]!.split(";")) {
        const equals = pair.indexOf("=")
        if (equals !== -1 && pair.slice(0, equals).trim() === name) return unquoted(pair.slice(equals + 1).trim())
      }
    }
    return undefined
  }
}

export const isSensitive = (name: string, sensitive: ReadonlySet<string> | undefined): boolean =>
  alwaysSensitiveHeaders.has(name) || (sensitive?.has(name) ?? false)

const hidden = (value: CelValue): CelValue =>
  value instanceof CelList ? new CelList(value.items.map(() => redacted)) : redacted

const unquoted = (value: string) =>
  value.length > 1 && value.startsWith('"') && value.endsWith('"') ? value.slice(1, -1) : value
