/** What is wrong with a regular expression, in words that say what the language lacks: the parser's own speak of Perl. Nothing of the pattern is quoted. */

/** @param detail what the parser says of `pattern`. */
export const regexFault = (pattern: string, detail: string): string => {
  if (/\(\?<?[=!]/.test(pattern) && /Perl syntax|named capture/.test(detail))
    return "look-ahead and look-behind, as (?= and (?<!, are not in RE2; write a second condition in their place"
  if (/\\[1-9]/.test(pattern) && detail.startsWith("invalid escape sequence"))
    return "back-references, as \\1, are not in RE2"
  return detail
}
