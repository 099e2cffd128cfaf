/** What a file of another gateway becomes. */
import type { Finding } from "../ctl/finding.ts"

export interface Imported {
  /** A configuration, as `write` takes it. */
  readonly values: object
  readonly findings: ReadonlyArray<Finding>
  /** Variables that the configuration reads, each with a value that it might have. */
  readonly variables: ReadonlyMap<string, string>
}
