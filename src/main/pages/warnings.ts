/** The reference page of what `headgatectl validate` warns of. */
import { codes } from "../../../spec/warnings.ts"

export const warningsPage = (): string => `# Warnings

A file that is right may still hold what is probably not meant. \`headgatectl validate\` tells each with its place and a code, and so do the proxy at its start and a reload; with \`--strict\`, \`validate\` fails on them.

| Code | What it warns of |
|---|---|
${Object.entries(codes)
  .map(([code, meaning]) => `| \`${code}\` | ${meaning[0]!.toUpperCase()}${meaning.slice(1)}. |`)
  .join("\n")}
`
