/**
 * The commands that a configuration suggests to try. Only its author knows which request makes sense and which key may be
 * shown, so they stand in the file: comments that begin with `Try:`, with a backslash where a command goes on.
 */

const comment = /^\s*#\s*/
const opening = /^\s*#\s*Try:\s*/

/** Every suggestion, each as one line for a shell. Read from the text as written: nothing of the environment gets in. */
export const suggestions = (text: string): ReadonlyArray<string> => {
  const found: Array<string> = []
  let begun: string | undefined
  for (const line of text.split(/\r?\n/)) {
    if (begun === undefined && !opening.test(line)) continue
    const said = begun === undefined ? line.replace(opening, "") : `${begun}${line.replace(comment, "")}`
    const continued = said.trimEnd().endsWith("\\")
    begun = continued ? `${said.trimEnd().slice(0, -1).trimEnd()} ` : undefined
    if (!continued) found.push(said.trim())
  }
  return found
}
