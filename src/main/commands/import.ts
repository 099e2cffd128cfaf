/** `headgate import`: a file of another gateway as one of ours, with what became of each thing in it. */
import { Console, Effect } from "effect"
import { Command, Flag } from "effect/cli"
import { YAMLParseError } from "yaml"
import { write } from "../../../spec/config/write.ts"
import { fromFile } from "../configuration/source.ts"
import { orExit, Unable } from "../ctl/failure.ts"
import { findingText, verdicts } from "../ctl/finding.ts"
import { unsetText } from "./serving.ts"
import { writeServed } from "./write-served.ts"

const sources = ["litellm"] as const

export const importCommand = Command.make(
  "import",
  {
    from: Flag.Literals("from", sources).pipe(Flag.withDescription("Whose file it is.")),
    file: Flag.String("file").pipe(
      Flag.withAlias("f"),
      Flag.withDescription("The file to read; - for standard input.")
    ),
    output: Flag.String("output").pipe(
      Flag.withAlias("o"),
      Flag.withDefault("-"),
      Flag.withDescription("The file to write; standard output when left out.")
    ),
    force: Flag.Boolean("force").pipe(Flag.withDefault(false), Flag.withDescription("Write over a file that is there."))
  },
  ({ file, output, force }) =>
    Effect.gen(function* () {
      const [{ fromLitellm }, { parse }] = yield* Effect.promise(() =>
        Promise.all([import("../import/litellm.ts"), import("yaml")])
      )
      const text = yield* fromFile(file).read
      const read = yield* Effect.try({
        try: () => parse(text, { prettyErrors: false, maxAliasCount: 100 }) as unknown,
        catch: (cause) =>
          new Unable({
            detail: `${file} is no YAML: ${cause instanceof YAMLParseError ? cause.code : "it cannot be read"}`
          })
      })
      const { values, findings, variables } = fromLitellm(read)
      for (const finding of findings) yield* Console.error(findingText(finding))
      const { llm } = values as { readonly llm?: { readonly models: ReadonlyArray<unknown> } }
      if (llm === undefined || llm.models.length === 0)
        return yield* new Unable({ detail: `nothing is written: no model of ${file} can be taken over` })
      const missing = [...variables].filter(([name]) => (process.env[name] ?? "") === "")
      yield* writeServed({ text: importedText(values), file: output, force, samples: Object.fromEntries(missing) })
      const count = verdicts.map((each) => `${findings.filter(({ verdict }) => verdict === each).length} ${each}`)
      yield* Console.error(count.join(", "))
      if (missing.length > 0) yield* Console.error(`before it is served, ${unsetText(missing.map(([name]) => name))}`)
    }).pipe(orExit())
).pipe(
  Command.withDescription(
    "Make a configuration out of the file of another gateway. Standard error tells what became of each thing in it: exact, approximate, manual (something is left to do), or unsupported (left out). What is written is served by this build, and holds no credential."
  )
)

const importedText = (values: object): string =>
  `# yaml-language-server: $schema=http://localhost:15000/config.schema.json\n# Made by headgate import from a file of LiteLLM.\n${write(values)}`
