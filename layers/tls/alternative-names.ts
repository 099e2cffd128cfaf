/** The alternative names of a certificate's subject, in the form in which the runtime writes them. */

/** One by one: those with characters that could be mistaken are in quotes, as JSON. */
export const alternativeNames = (text: string): ReadonlyArray<string> =>
  (text.match(/(?:"(?:[^"\\]|\\.)*"|[^",])+/g) ?? []).map((each) => each.trim())

export const unquoted = (text: string): string | undefined => {
  if (!text.startsWith('"')) return text
  try {
    return String(JSON.parse(text))
  } catch {
    return undefined
  }
}
