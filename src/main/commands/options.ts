/** The options with which `headgate` serves a file: for its own reader, its help, its manual page and the completions of shells. */
import { problemFormats } from "../../../spec/config/problem.ts"
import { cannotServe } from "../exit-codes.ts"

export interface ProxyOption {
  readonly type: "string" | "boolean"
  readonly short?: string
  /** What stands behind it. */
  readonly value?: string
  /** The words that it may be given; a file when there are none. */
  readonly choices?: ReadonlyArray<string>
  readonly meaning: string
}

export const proxyOptions = {
  file: {
    type: "string",
    short: "f",
    value: "FILE",
    meaning:
      "configuration file, YAML or JSON; - for standard input; default: config.yaml in /config where that exists, else in ~/.config/headgate, made at the first start"
  },
  config: { type: "string", short: "c", value: "TEXT", meaning: "the configuration itself" },
  "validate-only": {
    type: "boolean",
    meaning: `check the configuration and exit; what this build cannot serve is a warning, and exit code ${cannotServe}`
  },
  format: {
    type: "string",
    value: "FORMAT",
    choices: problemFormats,
    meaning: "how problems are printed: text, json, or github for annotations; default: text"
  },
  V: { type: "boolean", short: "V", meaning: "print the version" },
  version: { type: "boolean", meaning: "print what was built, as JSON" },
  help: { type: "boolean", short: "h", meaning: "print how it is used" }
} as const satisfies Readonly<Record<string, ProxyOption>>

/** Each as it is typed, and what it does. */
export const proxyOptionRows = (): ReadonlyArray<readonly [typed: string, meaning: string]> =>
  Object.entries<ProxyOption>(proxyOptions).map(([name, { short, value, meaning }]) => {
    const forms = [...(short === undefined ? [] : [`-${short}`]), ...(name.length > 1 ? [`--${name}`] : [])].join(", ")
    return [value === undefined ? forms : `${forms} ${value}`, meaning]
  })

/** Examples, each with what it does. */
export const proxyExamples: ReadonlyArray<readonly [command: string, meaning: string]> = [
  ["headgate -f config.yaml", "serve what the file says, and follow its changes"],
  ["headgate -f config.yaml --validate-only", "say everything that is wrong with it"],
  ["envsubst < template.yaml | headgate -f -", "serve what another program writes"]
]
