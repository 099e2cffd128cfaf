/** With which codes the programs end: for their help, their reference page, and whoever starts them from a script. */

/** What is written is right, and this build cannot serve all of it. */
export const cannotServe = 3

interface ExitCode {
  readonly code: number
  readonly meaning: string
}

export const proxyCodes: ReadonlyArray<ExitCode> = [
  { code: 0, meaning: "it ended as it was asked to; with --validate-only, the configuration is valid" },
  { code: 1, meaning: "it could not start, its arguments are wrong, or the configuration is invalid" },
  {
    code: cannotServe,
    meaning: "with --validate-only: the configuration is valid, but this build cannot serve all of it"
  },
  { code: 130, meaning: "interrupted once more (SIGINT) while it drained" },
  { code: 143, meaning: "told once more to end (SIGTERM) while it drained" }
]

export const toolCodes: ReadonlyArray<ExitCode> = [
  { code: 0, meaning: "done; nothing is wrong" },
  {
    code: 1,
    meaning:
      "it cannot be done, or the answer is no: an invalid file or expression, files that differ (diff), a file not in its canonical form (fmt --check), a warning (validate --strict), something that keeps a file from being served (doctor)"
  },
  { code: 2, meaning: "an evaluation failed (cel eval, cel explain), or a file to compare is invalid (diff)" },
  { code: cannotServe, meaning: "validate, doctor: the file is valid, but this build cannot serve all of it" }
]

/** For the help of a program. */
export const codesText = (codes: ReadonlyArray<ExitCode>): string =>
  codes.map(({ code, meaning }) => `  ${String(code).padEnd(3)}  ${meaning}`).join("\n")

const table = (codes: ReadonlyArray<ExitCode>): string =>
  `| Code | Meaning |\n|---|---|\n${codes.map(({ code, meaning }) => `| ${code} | ${meaning[0]!.toUpperCase()}${meaning.slice(1)}. |`).join("\n")}`

export const exitCodesPage = (): string => `# Exit codes

## headgate

${table(proxyCodes)}

## headgatectl

${table(toolCodes)}
`
