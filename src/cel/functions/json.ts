/** JSON inside expressions: parsing whole texts and single fields, writing values, and the payload of a token. */
import { Buffer } from "node:buffer"
import { jsonField } from "../compare.ts"
import { type Frame, type Outcome, outOfWork } from "../frame.ts"
import { global, unreadable } from "../function.ts"
import { fromJson, toJson } from "../json.ts"
import { certain, parseJson } from "../json-text.ts"
import { isPlainObject } from "../kind.ts"
import { CelError } from "../problem.ts"
import type { CelValue, JsonObject } from "../value.ts"
import { decodeText } from "./conversion.ts"

/** Bodies are parsed once, however many rules ask: the host's bytes do not change while a request lives. */
const parsed = new WeakMap<Uint8Array, Parsed>()

interface Parsed {
  readonly json: unknown
  /** Whether those who decide may go by it; unknown until one of them asks. */
  readonly certain: boolean
}

const parse = (frame: Frame, text: string): Outcome => {
  const read = parseJson(frame, text)
  const json = read instanceof CelError || !frame.deciding ? read : certain(frame, text, read.json)
  return json instanceof CelError ? json : fromJson(json.json)
}

const parseBytes = (frame: Frame, bytes: Uint8Array): Outcome => {
  const known = parsed.get(bytes)
  if (known !== undefined && (known.certain || !frame.deciding)) return fromJson(known.json)
  const text = decodeText(frame, bytes)
  if (text instanceof CelError) return text
  const read = known ?? parseJson(frame, text)
  const json = read instanceof CelError || !frame.deciding ? read : certain(frame, text, read.json)
  if (json instanceof CelError) return json
  parsed.set(bytes, { json: json.json, certain: frame.deciding })
  return fromJson(json.json)
}

const field = (container: Outcome, name: string): Outcome => {
  if (container instanceof CelError) return container
  const value = isPlainObject(container) ? jsonField(container as JsonObject, name) : undefined
  return value === undefined ? new CelError("no_such_key", "no such key") : value
}

const payload = (frame: Frame, token: string): Outcome => {
  const segments = token.length > 1 << 16 ? [] : token.split(".", 4)
  if (segments.length !== 3 || !/^[A-Za-z0-9_-]*$/.test(segments[1]!))
    return unreadable("the text is no JSON Web Token")
  return frame.spend(1 + (token.length >> 4))
    ? parseBytes(frame, new Uint8Array(Buffer.from(segments[1]!, "base64url")))
    : outOfWork
}

const write = (frame: Frame, value: CelValue): Outcome => toJson(value, frame)

export const jsonFunctions = [
  global("json", ["string"], "dyn", parse, { cost: 80 }),
  global("json", ["bytes"], "dyn", parseBytes, { cost: 80 }),
  global("jsonField", ["string", "string"], "dyn", (frame, text, name) => field(parse(frame, text), name), {
    cost: 40
  }),
  global("jsonField", ["bytes", "string"], "dyn", (frame, bytes, name) => field(parseBytes(frame, bytes), name), {
    cost: 60
  }),
  global("toJson", ["dyn"], "string", write, { cost: 20 }),
  global("to_json", ["dyn"], "string", write, { cost: 20 }),
  global("unvalidatedJwtPayload", ["string"], "dyn", payload, { cost: 80 })
]
