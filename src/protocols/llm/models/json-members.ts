/**
 * Changes one top-level member of a JSON text and leaves every other byte as the client wrote it: number spellings, key order, duplicate
 * keys and white space survive, and a large prompt is not serialised again.
 */
import { Buffer } from "node:buffer"
import type { JsonObject } from "../formats/json.ts"

/** Byte offsets; `end` is behind the value. */
export interface ByteSpan {
  readonly start: number
  readonly end: number
}

const QUOTE = 0x22
const BACKSLASH = 0x5c
const COMMA = 0x2c
const COLON = 0x3a
const OPEN_BRACE = 0x7b
const CLOSE_BRACE = 0x7d
const OPEN_BRACKET = 0x5b
const CLOSE_BRACKET = 0x5d

const isSpace = (byte: number | undefined): boolean => byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09

const skipSpace = (json: Buffer, from: number): number => {
  let at = from
  while (isSpace(json[at])) at++
  return at
}

/** Quotes closer than this are found faster by looking than by calling the native search. */
const near = 128

/** Behind the string that opens at `from`, or -1. */
const stringEnd = (json: Buffer, from: number): number => {
  let at = from + 1
  for (;;) {
    for (const limit = Math.min(at + near, json.length); at < limit; at++) {
      const byte = json[at]
      if (byte === QUOTE) return at + 1
      if (byte === BACKSLASH) at++
    }
    const quote = json.indexOf(QUOTE, at)
    if (quote === -1) return -1
    let escapes = 0
    while (quote - escapes > at && json[quote - escapes - 1] === BACKSLASH) escapes++
    at = quote + 1
    if (escapes % 2 === 0) return at
  }
}

/** Behind the value that starts at `from`, or -1. */
const valueEnd = (json: Buffer, from: number): number => {
  const first = json[from]
  if (first === QUOTE) return stringEnd(json, from)
  let depth = 0
  for (let at = from; at < json.length; at++) {
    const byte = json[at]
    if (byte === QUOTE) {
      at = stringEnd(json, at) - 1
      if (at < 0) return -1
    } else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) depth++
    else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) {
      // A scalar ends before the bracket of what contains it, a container with its own.
      if (depth === 0) return at
      if (--depth === 0) return at + 1
    } else if (depth === 0 && (byte === COMMA || isSpace(byte))) return at
  }
  return -1
}

const isNamed = (json: Buffer, start: number, end: number, name: Buffer): boolean => {
  const key = json.subarray(start + 1, end - 1)
  if (key.indexOf(BACKSLASH) === -1) return key.equals(name)
  try {
    return JSON.parse(json.toString("utf8", start, end)) === name.toString("utf8")
  } catch {
    return false
  }
}

type Visit = (keyStart: number, keyEnd: number, start: number, end: number) => void

/** Shows every top-level member in order; `false` when the text is no JSON object as far as this scan can tell. */
const eachMember = (json: Buffer, visit: Visit): boolean => {
  let at = skipSpace(json, 0)
  if (json[at] !== OPEN_BRACE) return false
  at = skipSpace(json, at + 1)
  if (json[at] === CLOSE_BRACE) return true
  for (;;) {
    if (json[at] !== QUOTE) return false
    const keyStart = at
    const keyEnd = stringEnd(json, at)
    if (keyEnd === -1) return false
    at = skipSpace(json, keyEnd)
    if (json[at] !== COLON) return false
    const start = skipSpace(json, at + 1)
    const end = valueEnd(json, start)
    if (end <= start) return false
    visit(keyStart, keyEnd, start, end)
    at = skipSpace(json, end)
    if (json[at] === CLOSE_BRACE) return true
    if (json[at] !== COMMA) return false
    at = skipSpace(json, at + 1)
  }
}

/**
 * Where the values of the top-level members called `name` stand, in order; more than one when the client repeats the key, which readers
 * resolve differently. `undefined` when the text is no JSON object as far as this scan can tell.
 */
export const memberSpans = (json: Buffer, name: string): ReadonlyArray<ByteSpan> | undefined => {
  const wanted = Buffer.from(name)
  const spans: Array<ByteSpan> = []
  const whole = eachMember(json, (keyStart, keyEnd, start, end) => {
    if (isNamed(json, keyStart, keyEnd, wanted)) spans.push({ start, end })
  })
  return whole ? spans : undefined
}

/** Whether one of the bytes between is a backslash. A key is short: the native search would take longer to call. */
const hasEscape = (json: Buffer, from: number, to: number): boolean => {
  for (let at = from; at < to; at++) if (json[at] === BACKSLASH) return true
  return false
}

/**
 * Whether every reader finds the same value under every top-level key. Not so where a key stands twice, or is written with escapes, which
 * might hide that it does.
 * @param read what the text was parsed to: of a key that stands twice it has one member.
 */
export const isUnambiguous = (json: Buffer, read: JsonObject): boolean => {
  let members = 0
  let escaped = false
  const whole = eachMember(json, (keyStart, keyEnd) => {
    members++
    escaped ||= hasEscape(json, keyStart, keyEnd)
  })
  return whole && !escaped && members === Object.keys(read).length
}

/** The text of an object that has no member of that name, with one. */
export const withFirstMember = (json: Buffer, name: string, value: string): Buffer => {
  const inside = json.indexOf(OPEN_BRACE) + 1
  const more = json[skipSpace(json, inside)] !== CLOSE_BRACE
  const member = Buffer.from(`${JSON.stringify(name)}:${value}${more ? "," : ""}`)
  return Buffer.concat([json.subarray(0, inside), member, json.subarray(inside)])
}

/** The text with `name` set to `value` (JSON text): in place wherever it stands, else as a new first member. */
export const setMember = (json: Buffer, name: string, value: string): Buffer | undefined => {
  const spans = memberSpans(json, name)
  if (spans === undefined) return undefined
  if (spans.length === 0) return withFirstMember(json, name, value)
  const text = Buffer.from(value)
  const pieces: Array<Buffer> = []
  let at = 0
  for (const { start, end } of spans) {
    pieces.push(json.subarray(at, start), text)
    at = end
  }
  return Buffer.concat([...pieces, json.subarray(at)])
}

/**
 * The body with another model. The very same buffer when it states this model already, once: nothing to rewrite. A repeated key is
 * written over everywhere, so that the provider cannot read another model than the one that was authorized.
 */
export const setModel = (json: Buffer, model: string): Buffer | undefined => {
  const spans = memberSpans(json, "model")
  const text = JSON.stringify(model)
  const [only] = spans ?? []
  const same = spans?.length === 1 && only !== undefined && json.toString("utf8", only.start, only.end) === text
  return same ? json : setMember(json, "model", text)
}
