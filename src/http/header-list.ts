/**
 * The header list of a request or a response: one flat array of lower-case names and values, in the order in which they
 * came. Duplicates, `set-cookie` and order survive; a look-up is a scan, which beats an index at the sizes HTTP has.
 */

/** Header lines in their order. Names are lower-case wherever they are given; values are as they came. */
export class HeaderList {
  /** Name, value, name, value …; names are lower-case. */
  readonly flat: Array<string>

  constructor(flat: Array<string> = []) {
    this.flat = flat
  }

  /** From name, value pairs whose names may have any case. */
  static from(pairs: Iterable<readonly [name: string, value: string]>): HeaderList {
    const list = new HeaderList()
    for (const [name, value] of pairs) list.add(name, value)
    return list
  }

  get size(): number {
    return this.flat.length >> 1
  }

  /** The value of the first line of that name, which must be lower-case. */
  get(name: string): string | undefined {
    const flat = this.flat
    for (let i = 0; i < flat.length; i += 2) if (flat[i] === name) return flat[i + 1]
    return undefined
  }

  /** The values of all lines of that name, in order. */
  getAll(name: string): ReadonlyArray<string> {
    const values: Array<string> = []
    const flat = this.flat
    for (let i = 0; i < flat.length; i += 2) if (flat[i] === name) values.push(flat[i + 1]!)
    return values
  }

  has(name: string): boolean {
    return this.get(name) !== undefined
  }

  /** Appends a line. */
  add(name: string, value: string): void {
    this.flat.push(name.toLowerCase(), value)
  }

  /** Makes `value` the only line of that name, at the place of the first one. */
  set(name: string, value: string): void {
    const lower = name.toLowerCase()
    const flat = this.flat
    for (let i = 0; i < flat.length; i += 2) {
      if (flat[i] !== lower) continue
      flat[i + 1] = value
      this.#deleteFrom(lower, i + 2)
      return
    }
    flat.push(lower, value)
  }

  /** Removes all lines of that name. */
  delete(name: string): void {
    this.#deleteFrom(name.toLowerCase(), 0)
  }

  /** Removes all lines of any of those names, which must be lower-case: in one pass, however many a peer has named. */
  deleteAll(names: ReadonlySet<string>): void {
    const flat = this.flat
    let kept = 0
    for (let i = 0; i < flat.length; i += 2) {
      if (names.has(flat[i]!)) continue
      if (kept !== i) {
        flat[kept] = flat[i]!
        flat[kept + 1] = flat[i + 1]!
      }
      kept += 2
    }
    while (flat.length > kept) flat.pop()
  }

  #deleteFrom(lower: string, start: number): void {
    const flat = this.flat
    let kept = start
    for (let i = start; i < flat.length; i += 2) {
      if (flat[i] === lower) continue
      if (kept !== i) {
        flat[kept] = flat[i]!
        flat[kept + 1] = flat[i + 1]!
      }
      kept += 2
    }
    // A length that is set, be it the same, costs more than all that is above.
    while (flat.length > kept) flat.pop()
  }

  clone(): HeaderList {
    return new HeaderList(this.flat.slice())
  }

  *[Symbol.iterator](): Generator<readonly [name: string, value: string]> {
    for (let i = 0; i < this.flat.length; i += 2) yield [this.flat[i]!, this.flat[i + 1]!]
  }
}

/** Adds fields to those that `vary` lists (RFC 9110 12.5.5); `*` already says all. */
export const addVary = (headers: HeaderList, fields: string): void => {
  if (!headers.has("vary")) {
    headers.add("vary", fields)
    return
  }
  const known = headers.getAll("vary").join(", ")
  const listed = new Set(fieldsOf(known.toLowerCase()))
  if (listed.has("*")) return
  const missing = fieldsOf(fields).filter((field) => !listed.has(field.toLowerCase()))
  if (missing.length > 0) headers.set("vary", [...(known === "" ? [] : [known]), ...missing].join(", "))
}

const fieldsOf = (list: string): ReadonlyArray<string> =>
  list
    .split(",")
    .map((field) => field.trim())
    .filter((field) => field !== "")

const token = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/
const forbiddenInValue = /[^\t\x20-\x7e\x80-\xff]/

/** Whether a string may be a header name (RFC 9110 5.6.2). */
export const isHeaderName = (name: string): boolean => token.test(name)

/** Whether a string may be a header value (RFC 9110 5.5): no control characters, nothing beyond latin-1. */
export const isHeaderValue = (value: string): boolean => !forbiddenInValue.test(value)
