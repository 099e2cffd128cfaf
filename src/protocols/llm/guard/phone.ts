/** Recognises telephone numbers in text: everything that looks like one and that the numbering plan of some region admits. */

import type { Span } from "../../../regex/search.ts"
import { callingCodes, otherNumberDigits, type Region, regions } from "./numbering-plans.ts"

/** A digit that no digit precedes, perhaps with a sign in front, then digits and what people put between them. At most 32 characters. */
const candidate = /(?<!\d)[+()]?\d[\d\s().-]{6,30}/g

const plans: ReadonlyArray<Region> = [...new Set<Region>(Object.values(regions))]

const isNational = (region: Region, digits: string): boolean =>
  region.number.test(digits) ||
  (digits.startsWith(region.trunkPrefix) && region.number.test(digits.slice(region.trunkPrefix.length)))

/** `digits` begin with a calling code. Some write the trunk prefix behind it: +44 (0)20 .... */
const isInternational = (digits: string): boolean => {
  const region = plans.find(({ callingCode }) => digits.startsWith(callingCode))
  if (region !== undefined) return isNational(region, digits.slice(region.callingCode.length))
  for (let length = 1; length <= 3; length++)
    if (callingCodes.has(digits.slice(0, length)))
      return digits.length - length >= otherNumberDigits.least && digits.length <= otherNumberDigits.mostWithCode
  return false
}

/** Whether a candidate is a number that could be dialled, from one of the regions if it has no country code. */
export const isPhoneNumber = (candidate: string): boolean => {
  const digits = candidate.replace(/\D/g, "")
  if (candidate.startsWith("+")) return isInternational(digits)
  return plans.some(
    (region) =>
      isNational(region, digits) ||
      (digits.startsWith(region.callingCode) && isNational(region, digits.slice(region.callingCode.length))) ||
      (digits.startsWith(region.internationalPrefix) &&
        isInternational(digits.slice(region.internationalPrefix.length)))
  )
}

/** The numbers in `text`; trailing blanks that were part of the candidate belong to it. */
export const findPhoneNumbers = (text: string): ReadonlyArray<Span> => {
  const spans: Array<Span> = []
  for (const { 0: found, index } of text.matchAll(candidate))
    if (isPhoneNumber(found)) spans.push({ start: index, end: index + found.length })
  return spans
}
