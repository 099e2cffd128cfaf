/** Reads a configuration text, whole: decoded, normalised, and every problem located. Nothing is opened or started. */
import type { Environment } from "../../spec/config/expand.ts"
import { followsFrom, type Gap, startsWith } from "../../spec/config/gaps.ts"
import { load } from "../../spec/config/load.ts"
import { type Path, parsePath } from "../../spec/config/path.ts"
import type { Complaint, Positions } from "../../spec/config/positions.ts"
import { inOrder, type Problem } from "../../spec/config/problem.ts"
import { overrides } from "../../spec/environment.ts"
import type { PolicySpecs } from "../../spec/standalone/policies.ts"
import { standalone } from "../../spec/standalone.ts"
import { schemas } from "../../stages/schemas.ts"
import { type Hidden, nothingHidden } from "../pipeline/hidden.ts"
import { hiddenOf } from "../routing/hidden.ts"
import { doubtfulRest, lint } from "../routing/lint/lint.ts"
import { normalise } from "../routing/normalise/normalise.ts"
import type { Normalised } from "../routing/normalised.ts"
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
  /** Where a relative path in it is looked for first, before the working directory. */
  readonly folder?: string | undefined
}

export interface Checked {
  /** `undefined` if there are errors; problems beside a configuration are warnings. */
  readonly config: Normalised | undefined
  readonly positions: Positions | undefined
  /** What is left of a configuration with errors. */
  readonly rest: Rest | undefined
  /** What logs and traces of its requests do not show. */
  readonly hidden: Hidden
  readonly problems: ReadonlyArray<Problem>
}

/** A configuration without what is wrong in it: it is compiled for the faults that show only then, and never served. */
export interface Rest {
  readonly config: Normalised
  readonly gaps: ReadonlyArray<Gap>
  /** Where its parts do not fit one another. */
  readonly faults: ReadonlyArray<Path>
}

/** Whether a fault that shows in a rest may follow from what is missing in it, or from what was told already. */
export const isFollowing = ({ gaps, faults }: Rest, complaint: Complaint): boolean =>
  followsFrom(gaps, complaint) || faults.some((fault) => startsWith(fault, pathOf(complaint)))

const pathOf = ({ path }: Complaint): Path => (typeof path === "string" ? parsePath(path) : path)

/** The environment is part of what is checked: its variables win over the settings of the file. */
export const check = (source: ConfigurationText, { specs, schema } = language): Checked => {
  const environment = overrides(source.env)
  const loaded = load(source, schema)
  const found = loaded.ok ? { ...loaded, gaps: [] } : loaded.rest
  const told = [...environment.problems, ...(loaded.ok ? [] : loaded.problems)]
  const nothing = { config: undefined, rest: undefined, hidden: nothingHidden }
  if (found === undefined) return { ...nothing, positions: undefined, problems: told }

  const { value: file, positions, inlineCredentials, gaps } = found
  const { value: written, complaints } = normalise(file, specs, gaps)
  const ofItself = (complaint: Complaint) => !followsFrom(gaps, complaint)
  const located = (all: ReadonlyArray<Complaint>) =>
    all.filter(ofItself).map((complaint) => positions.locate(complaint))
  const errors = [...told, ...located(complaints)]
  const idle = located(idleSettings(written.settings, positions))
  if (errors.length > 0) {
    const rest = { config: written, gaps, faults: complaints.map(pathOf) }
    const wrong = [...gaps.map(({ path }) => path), ...rest.faults]
    const doubtful = located(doubtfulRest({ file, specs, normalised: written, positions, inlineCredentials }, wrong))
    return { ...nothing, positions, rest, problems: inOrder([...errors, ...idle, ...doubtful]) }
  }
  const doubtful = lint({ file, specs, normalised: written, positions, inlineCredentials })
  const config = { ...written, settings: environment.apply(written.settings) }
  return {
    config,
    positions,
    rest: undefined,
    hidden: hiddenOf(config, positions.outline.disguises),
    problems: inOrder([...idle, ...doubtful])
  }
}
