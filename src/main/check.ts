/** Reads a configuration text, whole: decoded, normalised, and every problem located. Nothing is opened or started. */
import type { Environment } from "../../spec/config/expand.ts"
import { load } from "../../spec/config/load.ts"
import type { Positions } from "../../spec/config/positions.ts"
import { inOrder, type Problem } from "../../spec/config/problem.ts"
import type { PolicySpecs } from "../../spec/standalone/policies.ts"
import { standalone } from "../../spec/standalone.ts"
import { schemas } from "../../stages/schemas.ts"
import { type Hidden, nothingHidden } from "../pipeline/hidden.ts"
import { lint } from "../routing/lint/lint.ts"
import { normalise } from "../routing/normalise/normalise.ts"
import type { Normalised } from "../routing/normalised.ts"
import { hiddenOf } from "./hidden.ts"
import { idleSettings } from "./idle-settings.ts"

/** The policies that a file may hold, and the schema of the file that follows from them. */
export interface Language {
  readonly specs: PolicySpecs
  readonly schema: ReturnType<typeof standalone>
}

/** What the proxy itself understands. */
export const language: Language = { specs: schemas, schema: standalone(schemas) }

export interface ConfigurationText {
  /** The name for messages, usually the path of the file. */
  readonly name: string
  readonly text: string
  readonly env: Environment
  /** Replaces a leading `~`. */
  readonly home?: string | undefined
}

export interface Checked {
  /** `undefined` if there are errors; problems beside a configuration are warnings. */
  readonly config: Normalised | undefined
  readonly positions: Positions | undefined
  /** What logs and traces of its requests do not show. */
  readonly hidden: Hidden
  readonly problems: ReadonlyArray<Problem>
}

export const check = (source: ConfigurationText, { specs, schema } = language): Checked => {
  const loaded = load(source, schema)
  const nothing = { config: undefined, hidden: nothingHidden }
  if (!loaded.ok) return { ...nothing, positions: undefined, problems: loaded.problems }
  const { positions, inlineCredentials } = loaded
  const normalised = normalise(loaded.value, specs)
  if (!normalised.ok) {
    const problems = inOrder(normalised.complaints.map((complaint) => positions.locate(complaint)))
    return { ...nothing, positions, problems }
  }
  const config = normalised.value
  const idle = idleSettings(config.settings, positions)
  const doubtful = lint({ file: loaded.value, normalised: config, positions, inlineCredentials })
  const problems = inOrder([...idle.map((complaint) => positions.locate(complaint)), ...doubtful])
  return { config, positions, hidden: hiddenOf(config), problems }
}
