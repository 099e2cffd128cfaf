/** From the text of a configuration file to its normalised form, with every problem of every step at its line and column. */
import { type Input, load } from "../../spec/config/load.ts"
import type { Path } from "../../spec/config/path.ts"
import type { Positions } from "../../spec/config/positions.ts"
import { inOrder, type Problem } from "../../spec/config/problem.ts"
import type { PolicySpecs } from "../../spec/standalone/policies.ts"
import { type Standalone, standalone } from "../../spec/standalone.ts"
import { normalise } from "./normalise/normalise.ts"
import type { Normalised } from "./normalised.ts"

/** A file that is right. */
export interface Configuration {
  readonly file: Standalone
  /** What the policies in it say of themselves. */
  readonly specs: PolicySpecs
  readonly normalised: Normalised
  readonly positions: Positions
  /** Where a credential is written out, instead of being taken from the environment or a file. */
  readonly inlineCredentials: ReadonlyArray<Path>
}

export type ReadResult =
  | { readonly ok: true; readonly value: Configuration }
  | { readonly ok: false; readonly problems: ReadonlyArray<Problem> }

/** Builds the reader for a set of policies. Its schema is built once; it never throws. */
export const reader = (specs: PolicySpecs): ((input: Input) => ReadResult) => {
  const schema = standalone(specs)
  return (input) => {
    const loaded = load(input, schema)
    if (!loaded.ok) return loaded
    const { value: file, positions, inlineCredentials } = loaded
    const result = normalise(file, specs)
    if (result.complaints.length > 0)
      return { ok: false, problems: inOrder(result.complaints.map((complaint) => positions.locate(complaint))) }
    return { ok: true, value: { file, specs, normalised: result.value, positions, inlineCredentials } }
  }
}
