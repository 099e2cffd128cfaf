/**
 * The built-in recognisers of personal data. Their patterns are fixed and bounded, so that the platform's own regular expressions take
 * linear time; no checksum is verified anywhere: a number that looks like one is one.
 */
import type { Span } from "../../../regex/search.ts"
import { findPhoneNumbers } from "./phone.ts"

/** The names in configuration. */
export const builtinNames = ["ssn", "creditCard", "phoneNumber", "email", "caSin"] as const
export type BuiltinName = (typeof builtinNames)[number]

/** One recogniser. */
export interface Builtin {
  /** What stands in the text instead of a match. */
  readonly mask: string
  readonly findAll: (text: string) => ReadonlyArray<Span>
}

const byPattern =
  (pattern: RegExp) =>
  (text: string): ReadonlyArray<Span> =>
    Array.from(text.matchAll(pattern), ({ 0: found, index }) => ({ start: index, end: index + found.length }))

const ssn = /\b(?:\d{3}[-. ]\d{2}[-. ]\d{4}|\d{5}-\d{4}|\d{3}-\d{6}|\d{9})\b/g

const caSin = /\b(?:\d{3}[- ]\d{3}[- ]\d{3}|\d{9})\b/g

/** Four groups, the first of a card network: 13 to 17 digits. */
const creditCard =
  /\b(?:(?:4\d{3}|5[0-5]\d{2}|6\d{3}|3\d{3})(?:[- ]?\d{3,4}){2}[- ]?\d{3,5}|1\d{3}(?:[- ]?\d{3,4}){2}[- ]?\d{4,5})\b/g

const isLocalPart = (unit: number): boolean => isLabel(unit) || unit === 0x5f || unit === 0x2e || unit === 0x2b
const isLabel = (unit: number): boolean =>
  (unit >= 0x61 && unit <= 0x7a) || (unit >= 0x41 && unit <= 0x5a) || (unit >= 0x30 && unit <= 0x39) || unit === 0x2d
const isDomain = (unit: number): boolean => isLabel(unit) || unit === 0x2e

/**
 * `local@label.rest`, looked for from the at sign outwards: searching from the left would be quadratic in text without any. A dot that
 * ends the sentence is taken for part of the domain.
 */
const findEmails = (text: string): ReadonlyArray<Span> => {
  const spans: Array<Span> = []
  let behind = 0
  for (let at = text.indexOf("@"); at !== -1; at = text.indexOf("@", Math.max(at + 1, behind))) {
    let start = at
    while (start > behind && isLocalPart(text.charCodeAt(start - 1))) start--
    let dot = at + 1
    while (isLabel(text.charCodeAt(dot))) dot++
    let end = dot + 1
    while (isDomain(text.charCodeAt(end))) end++
    if (start < at && dot > at + 1 && text[dot] === "." && end > dot + 1) {
      spans.push({ start, end })
      behind = end
    }
  }
  return spans
}

/** The recognisers by name. */
export const builtins: Readonly<Record<BuiltinName, Builtin>> = {
  ssn: { mask: "<SSN>", findAll: byPattern(ssn) },
  creditCard: { mask: "<CREDIT_CARD>", findAll: byPattern(creditCard) },
  phoneNumber: { mask: "<PHONE_NUMBER>", findAll: findPhoneNumbers },
  email: { mask: "<EMAIL_ADDRESS>", findAll: findEmails },
  caSin: { mask: "<CA_SIN>", findAll: byPattern(caSin) }
}
