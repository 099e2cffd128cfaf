/** Tells what was drawn by lot from what somebody chose: for places in which a secret may stand where none belongs. */

/** Letters and digits in turn, as words and versions do not have them. */
export const looksSecret = (text: string): boolean =>
  text
    .split(/[^A-Za-z0-9]+/)
    .some((word) => word.length >= 10 && (word.match(/[A-Za-z](?=\d)|\d(?=[A-Za-z])/g) ?? []).length >= 3)
