/** Warns of policies whose target is not there. Those that decide about requests are no warning: the file is refused. */
import type { Complaint } from "../../../spec/config/positions.ts"
import type { Normalised } from "../normalised.ts"
import { withoutTarget } from "../targets.ts"
import { warnOfName } from "./finding.ts"

export const unknownTargets = (config: Normalised): ReadonlyArray<Complaint> =>
  withoutTarget(config).map(({ path, message, missing }) => warnOfName("unknown-target", path, message, missing))
