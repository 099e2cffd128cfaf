/** What became of each thing of another gateway's file. */

export const verdicts = ["exact", "approximate", "manual", "unsupported"] as const

export interface Finding {
  /** `manual`: something is left to do by hand. `unsupported`: it is left out. */
  readonly verdict: (typeof verdicts)[number]
  /** Where it stands in the file that was read. */
  readonly path: string
  readonly message: string
}

export const findingText = ({ verdict, path, message }: Finding): string => `${verdict}: ${path}: ${message}`

/** What a file of another gateway becomes. */
export interface Imported {
  /** A configuration, as `write` takes it. */
  readonly values: object
  readonly findings: ReadonlyArray<Finding>
  /** Variables that the configuration reads, each with a value that it might have. */
  readonly variables: ReadonlyMap<string, string>
}
