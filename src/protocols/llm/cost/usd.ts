/**
 * Exact money: whole picodollars (10^-12 US dollars) in a bigint. A rate has at most six fraction digits and is per million tokens, so a
 * rate in millionths is picodollars per token, and tokens times rate needs neither division nor rounding.
 */

export type Picodollars = bigint

const fractionDigits = 12
const rateDigits = 6

/** A catalogue rate (US dollars per million tokens) as picodollars per token. The text has passed the catalogue's schema. */
export const parseRate = (rate: string): Picodollars => {
  const [whole = "0", fraction = ""] = rate.split(".")
  return BigInt(whole + fraction.padEnd(rateDigits, "0"))
}

/** Dollars as a decimal string without trailing zeros: `0.78`. */
export const formatUsd = (amount: Picodollars): string => {
  const digits = (amount < 0n ? -amount : amount).toString().padStart(fractionDigits + 1, "0")
  const whole = digits.slice(0, -fractionDigits)
  const fraction = digits.slice(-fractionDigits).replace(/0+$/, "")
  return `${amount < 0n ? "-" : ""}${whole}${fraction === "" ? "" : `.${fraction}`}`
}

/** A rate as the catalogue writes it. */
export const formatRate = (rate: Picodollars): string => formatUsd(rate * 1_000_000n)

/** Dollars as a float, for the metric that is one. */
export const toUsd = (amount: Picodollars): number => Number(amount) / 1e12
