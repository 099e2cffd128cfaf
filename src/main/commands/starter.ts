/**
 * A file that serves one thing, made from the words of a command. Only this machine reaches it, so that it may do without a
 * key; the commands to try stand in it as comments.
 */
import { FromEnvironment, write } from "../../../spec/config/write.ts"

export interface Starter {
  /** The words that make it, behind the name of the program. */
  readonly words: ReadonlyArray<string | FromEnvironment>
  readonly port: number
  /** The sections that say what is served. */
  readonly sections: object
  /** What may be typed next, each as the lines of one shell command. */
  readonly tries: ReadonlyArray<ReadonlyArray<string>>
  /** Variables that the file reads, and that have no value here. */
  readonly unset: ReadonlyArray<string>
}

/** The management servers by their settings. */
export const management = { adminAddr: 15_000, statsAddr: 15_020, readinessAddr: 15_021 } as const

/** @param taken settings of management servers that do without one, since somebody else has their port. */
export const starterText = (
  { port, sections, tries }: Starter,
  taken: ReadonlySet<keyof typeof management> = new Set()
): string => {
  const config = Object.fromEntries(
    Object.entries(management)
      .filter(([setting]) => setting !== "adminAddr" || taken.has(setting))
      .map(([setting, at]) => [setting, taken.has(setting as keyof typeof management) ? "off" : `localhost:${at}`])
  )
  const head = [
    "# yaml-language-server: $schema=http://localhost:15000/config.schema.json",
    "# Headgate, for this machine alone. Before the address goes, clients need a key: see the policy apiKey in the README.",
    ...tries.flatMap((lines) => ["#", `# Try: ${lines.join(" \\\n#   ")}`])
  ].join("\n")
  const beside =
    taken.size === 0
      ? "# Metrics and the readiness check, which take no key, are for this machine alone as well."
      : "# What is off had its port taken by another process when this was made."
  return `${head}\n\n${beside}\n${write({ config, gateways: { default: { port, address: "localhost" } }, ...sections })}`
}

/** A word as a shell reads it back. */
const quoted = (word: string | FromEnvironment): string =>
  word instanceof FromEnvironment
    ? `"${word}"`
    : /^[\w@%+=:,./-]+$/.test(word)
      ? word
      : `'${word.replaceAll("'", `'\\''`)}'`

/** The command line that makes a file, behind the name of the program. */
export const commandLine = (words: Starter["words"]): string => words.map(quoted).join(" ")
