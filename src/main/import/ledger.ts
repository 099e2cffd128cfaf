/** Keeps what became of each thing of a file, so that nothing of it goes without a word. */
import { formatPath, type Path } from "../../../spec/config/path.ts"
import { FromEnvironment } from "../../../spec/config/write.ts"
import type { Finding } from "../ctl/finding.ts"

export type Members = Readonly<Record<string, unknown>>

export const isMembers = (value: unknown): value is Members =>
  typeof value === "object" && value !== null && !Array.isArray(value)

export class Ledger {
  readonly #findings = new Map<string, Finding>()
  /** Each with a value that it might have. */
  readonly variables = new Map<string, string>()

  /** The last word on a thing counts. */
  tell(verdict: Finding["verdict"], path: Path, message: string): void {
    const shown = formatPath(path)
    this.#findings.set(shown, { verdict, path: shown, message })
  }

  exact(path: Path, message: string): void {
    this.tell("exact", path, message)
  }

  /** Said only where nothing was said yet. */
  otherwise(verdict: Finding["verdict"], path: Path, message: string): void {
    if (!this.#findings.has(formatPath(path))) this.tell(verdict, path, message)
  }

  /** Reads a variable of the environment. */
  variable(name: string, sample = "value"): FromEnvironment {
    if (sample !== "value" || !this.variables.has(name)) this.variables.set(name, sample)
    return new FromEnvironment(name)
  }

  get findings(): ReadonlyArray<Finding> {
    return [...this.#findings.values()]
  }
}
