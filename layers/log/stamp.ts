/** The time of a line as RFC 3339. Lines of the same second share its text. */

/** @param now milliseconds since 1970. */
export const stamp = (now: () => number): (() => string) => {
  let second = Number.NaN
  let before = ""
  return () => {
    const time = Math.floor(now())
    const millis = ((time % 1000) + 1000) % 1000
    if (time - millis !== second) {
      second = time - millis
      before = new Date(second).toISOString().slice(0, -"000Z".length)
    }
    return `${before}${millis < 10 ? "00" : millis < 100 ? "0" : ""}${millis}Z`
  }
}
