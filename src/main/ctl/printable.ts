/** Text from elsewhere, made safe to print: a header or an error of a backend must not steer the terminal of its reader. */

/** Control characters (C0, DEL, C1) as escapes; all else as it is. */
export const printable = (text: string): string =>
  text.replace(/[\u0000-\u001f\u007f-\u009f]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`)
