/** Reads a configuration text, whole: decoded, normalised, and every problem located. Nothing is opened or started. */
import type { Environment } from "../../spec/config/expand.ts"
import { load } from "../../spec/config/load.ts"
import type { Positions } from "../../spec/config/positions.ts"
import { inOrder, type Problem } from "../../spec/config/problem.ts"
import { overrides } from "../../spec/environment.ts"
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

/** The environment is part of what is checked: its variables win over the settings of the file. */
export const check = (source: ConfigurationText, { specs, schema } = language): Checked => {
  const environment = overrides(source.env)
  const loaded = load(source, schema)
  const nothing = { config: undefined, hidden: nothingHidden }
  if (!loaded.ok) return { ...nothing, positions: undefined, problems: [...environment.problems, ...loaded.problems] }
  const { positions, inlineCredentials } = loaded
  const normalised = normalise(loaded.value, specs)
  const complaints = normalised.ok ? [] : normalised.complaints.map((complaint) => positions.locate(complaint))
  if (!normalised.ok || environment.problems.length > 0)
    return { ...nothing, positions, problems: [...environment.problems, ...inOrder(complaints)] }
  const written = normalised.value
  const idle = idleSettings(written.settings, positions)
  const doubtful = lint({ file: loaded.value, specs, normalised: written, positions, inlineCredentials })
  const problems = inOrder([...idle.map((complaint) => positions.locate(complaint)), ...doubtful])
  const config = { ...written, settings: environment.apply(written.settings) }
  return { config, positions, hidden: hiddenOf(config, positions.outline.disguises), problems }
}
