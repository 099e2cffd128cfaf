/** Encodings and digests: base64, percent-encoding, forms, and hashes in hexadecimal. */
import { Buffer } from "node:buffer"
import { createHash } from "node:crypto"
import { elementAt, lengthOf } from "../compare.ts"
import { type Frame, type Outcome, outOfWork, tooLarge } from "../frame.ts"
import { global, type Overload, unreadable } from "../function.ts"
import { entriesOf, toText } from "../json.ts"
import { kindOf } from "../kind.ts"
import { maxElements, maxTextLength } from "../limits.ts"
import { noOverload } from "../operators.ts"
import type { CelError } from "../problem.ts"
import { CelList, CelMap, type CelValue, type ListValue, type MapValue } from "../value.ts"

const base64Form = /^[A-Za-z0-9+/]*={0,2}$/

const encode = (frame: Frame, octets: string | Uint8Array): Outcome => {
  if (octets.length > (maxTextLength / 4) * 3) return tooLarge
  if (!frame.spend(octets.length >> 5)) return outOfWork
  const buffer =
    typeof octets === "string" ? Buffer.from(octets) : Buffer.from(octets.buffer, octets.byteOffset, octets.length)
  return buffer.toString("base64")
}

const decode = (frame: Frame, text: string | Uint8Array): Outcome => {
  if (!frame.spend(1 + (text.length >> 4))) return outOfWork
  const base64 = typeof text === "string" ? text : Buffer.from(text).toString("latin1")
  const digits = base64.replace(/=+$/, "").length
  // Padding may be left out; a single last digit, or padding that does not fill up, is no base64.
  const complete = base64.length === digits || base64.length % 4 === 0
  if (!base64Form.test(base64) || digits % 4 === 1 || !complete) return unreadable("the text is not base64")
  return new Uint8Array(Buffer.from(base64, "base64"))
}

const percentEncode = (frame: Frame, text: string): Outcome => {
  if (text.length > maxTextLength / 12) return tooLarge
  if (!frame.spend(1 + (text.length >> 2))) return outOfWork
  return encodeURIComponent(text.toWellFormed()).replace(
    reservedMarks,
    (mark) => `%${mark.charCodeAt(0).toString(16).toUpperCase()}`
  )
}

/** Reserved in RFC 3986, and left alone by the language that this is written in. */
const reservedMarks = /[!'()*]/g

const percentDecode = (frame: Frame, text: string): Outcome => {
  if (!frame.spend(1 + (text.length >> 2))) return outOfWork
  try {
    return decodeURIComponent(text)
  } catch {
    return unreadable("the text is not percent-encoded UTF-8")
  }
}

/** Names and values of a form; a name that occurs again gets a list. */
const formDecode = (frame: Frame, text: string): Outcome => {
  if (!frame.spend(1 + (text.length >> 1))) return outOfWork
  const values = new Map<string, Array<string>>()
  let count = 0
  for (const [name, value] of new URLSearchParams(text)) {
    if (++count > maxElements) return tooLarge
    const known = values.get(name)
    if (known === undefined) values.set(name, [value])
    else known.push(value)
  }
  const map = new CelMap()
  for (const [name, all] of values) map.set(name, all.length === 1 ? all[0]! : new CelList(all))
  return map
}

/** Sorted by name; null is left out, a list gives one pair for each element. */
const formEncode = (frame: Frame, map: MapValue): Outcome => {
  const pairs: Array<readonly [string, string]> = []
  const add = (name: string, value: CelValue): CelError | undefined => {
    const kind = kindOf(value)
    if (kind === "null") return undefined
    if (kind === "map" || kind === "list") return noOverload("form.encode", value)
    const text = toText(value)
    if (!frame.spend(10 + (text.length >> 2))) return outOfWork
    return pairs.push([name, text]) > maxElements ? tooLarge : undefined
  }
  for (const [key, value] of entriesOf(map)) {
    const values = kindOf(value) === "list" ? (value as ListValue) : new CelList([value])
    for (let i = 0; i < lengthOf(values); i++) {
      const failed = add(toText(key), elementAt(values, i))
      if (failed !== undefined) return failed
    }
  }
  pairs.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))
  const text = new URLSearchParams(pairs as unknown as Array<[string, string]>).toString()
  return text.length > maxTextLength ? tooLarge : text
}

const digest = (name: string, algorithm: string): ReadonlyArray<Overload> => {
  const of = (frame: Frame, octets: string | Uint8Array): Outcome =>
    frame.spend(30 + (octets.length >> 4)) ? createHash(algorithm).update(octets).digest("hex") : outOfWork
  return [global(name, ["string"], "string", of), global(name, ["bytes"], "string", of)]
}

export const encodingFunctions = [
  ...["base64.encode", "base64Encode"].flatMap((name) => [
    global(name, ["string"], "string", encode, { cost: 12 }),
    global(name, ["bytes"], "string", encode, { cost: 12 })
  ]),
  ...["base64.decode", "base64Decode"].flatMap((name) => [
    global(name, ["string"], "bytes", decode, { cost: 15 }),
    global(name, ["bytes"], "bytes", decode, { cost: 15 })
  ]),
  global("url.encode", ["string"], "string", percentEncode, { cost: 10 }),
  global("url.decode", ["string"], "string", percentDecode, { cost: 40 }),
  global("form.decode", ["string"], "map", formDecode, { cost: 30 }),
  global("form.encode", ["map"], "string", formEncode, { cost: 40 }),
  ...digest("sha1.encode", "sha1"),
  ...digest("sha256.encode", "sha256"),
  ...digest("md5.encode", "md5")
]
