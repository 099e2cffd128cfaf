/** What became of each thing of a file that is written in another way: one of another gateway, or one with old forms. */

export const verdicts = ["exact", "approximate", "manual", "unsupported"] as const

export interface Finding {
  /** `manual`: something is left to do by hand. `unsupported`: it is left out. */
  readonly verdict: (typeof verdicts)[number]
  /** Where it stands in the file that was read. */
  readonly path: string
  readonly message: string
}

export const findingText = ({ verdict, path, message }: Finding): string => `${verdict}: ${path}: ${message}`
