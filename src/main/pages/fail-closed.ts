/** The page `docs/fail-closed.md`: everything that a decision may fail to read, and what the client gets then. */

import { policies, terminals } from "../../../stages/registry.ts"
import { conditionReadings } from "../../compile/conditions.ts"
import type { FailedReading } from "../../pipeline/fail-closed.ts"
import { type Skip, skips } from "../../protocols/llm/guard/assignment.ts"
import { assigned, guardedFormats } from "../../protocols/llm/guard/texts.ts"

/** The declarations of all who decide. */
export const allFailedReadings: ReadonlyArray<FailedReading> = [
  ...policies.policies.flatMap(({ failsClosed }) => failsClosed ?? []),
  ...terminals.flatMap(({ failsClosed }) => failsClosed ?? []),
  ...conditionReadings
]

/** The text that a client reads. */
export const textOf = ({ refusal: { content, message } }: FailedReading): string => content?.body ?? message

const code = (text: string): string => (text === "" ? "—" : `\`${text.replaceAll("|", "\\|")}\``)

/** One row for all who answer alike. */
const rows = (): string => {
  const deciders = new Map<string, Array<string>>()
  for (const reading of allFailedReadings) {
    const { what, by, refusal } = reading
    const answer = `${refusal.status} | ${code(textOf(reading))}`
    const key = `${what}\n${answer}`
    deciders.set(key, [...(deciders.get(key) ?? []), code(by)])
  }
  return [...deciders]
    .map(([key, by]) => {
      const [what, answer] = key.split("\n")
      return `| ${what} | ${by.join(", ")} | ${answer} |`
    })
    .join("\n")
}

/** The paths that no guard reads, of prompts. */
const leftAlone = (): string =>
  guardedFormats
    .flatMap((format) =>
      (Object.keys(skips) as ReadonlyArray<Skip>).flatMap((skip) => {
        const { rows } = assigned[format].request
        const paths = Object.keys(rows).filter((path) => rows[path] === skip)
        return paths.length === 0 ? [] : [`| ${format} | ${paths.map(code).join(", ")} | ${skips[skip]} |`]
      })
    )
    .join("\n")

export const failClosedPage = (): string => `# What cannot be read is refused

<!-- Written by \`npm run generate\` from what the policies declare; a test brings about every row. -->

A rule, a guard or a key that cannot read what it is asked about refuses the request, whatever its kind: a \`deny\` that could not look
has not found the request harmless. No operator makes up for it: \`||\`, \`&&\`, \`? :\`, \`exists\`, \`coalesce\` and functions of the
configuration pass the failure on, and so does a policy with \`failOpen\`.

Something that is *not there* is another matter. A missing header, claim or member, a value of another type, a position outside of a text and
\`fail()\` make a rule false, as ever: an \`allow\` does not allow, a \`require\` denies, a \`deny\` does not deny. Part of an expression
that is never evaluated (\`request.method == "GET" || json(request.body).safe\` for a GET) reads nothing and fails nothing.

Before an expression looks into a body, its content codings (${"`gzip`, `deflate`, `br`, `zstd`"}, four deep) are undone within the body limit, and what
was read is what the backend gets: without the coding, and without its header. An empty body is no JSON; a rule that must let it pass says so:
\`size(request.body) > 0 && json(request.body).cmd == "rm"\`. Content types do not matter but for their charset: who parses JSON wants JSON.
Names are compared as they are written; a backend that takes \`CMD\` for \`cmd\` needs a rule that says so.

| What cannot be read | Who decides | Status | Text |
|---|---|---|---|
${rows()}

## Prompts and answers

Every string of a conversation that a guard looks at, of its answer, of the events of a streamed one and of a provider's error belongs to
one of the guard's scopes or to a list of what is left alone, by path and with a reason: names, ids, words of the format, addresses and
encoded data, as long as they look like what they are. What is in neither counts as \`messages\`, so that a shape that nobody knows is read.
Definitions of tools and the shape of the answer count as \`systemPrompt\`. An event that is no JSON ends the stream. Streams are
read where \`streaming\` is \`Enabled\`; where it is not, \`headgatectl validate\` says so (\`unguarded-stream\`).

| Format | What is left alone | Why |
|---|---|---|
${leftAlone()}

## Headers that are repeated

\`request.headers["x-role"]\` is a text where the header has one line and a list where it has several, so that \`== "guest"\` is false for a
client that sends it twice. A rule that must see all values asks for the lines, or for the parts between commas as well:

\`\`\`yaml fragment=routes[].policies
authorization:
  rules:
    - deny: request.headers.raw()["x-role"].exists(role, role == "guest")
    - deny: request.headers.split()["x-role"].exists(role, role == "guest")
\`\`\`

\`headgatectl validate\` warns of a \`deny\` that compares a header with one text (\`repeated-header\`).
`
