/** Looks at a configuration that is right for what is probably not meant: warnings with codes, each at its place. */
import type { Complaint } from "../../../spec/config/positions.ts"
import { inOrder, type Problem } from "../../../spec/config/problem.ts"
import type { Configuration } from "../read.ts"
import { deprecated } from "./deprecated.ts"
import { doubts } from "./doubts.ts"
import { adminExposed, dynamicExposed, inlineCredentials, keysExposed, optionalAuthentication } from "./exposure.ts"
import { rawPaths } from "./raw-paths.ts"
import {
  references,
  replacedRoutes,
  servesNothing,
  shadowed,
  unservedHosts,
  unusedModels,
  withoutBackend
} from "./reachability.ts"
import { repeatedHeaders } from "./repeated-headers.ts"
import { neverTrue } from "./rules.ts"
import { unknownTargets } from "./targets.ts"
import { unguarded } from "./unguarded.ts"

/** What holds of a part of a file, whatever stands beside it. */
export const doubtfulParts = (configuration: Configuration): ReadonlyArray<Complaint> => {
  const { normalised } = configuration
  return [
    ...replacedRoutes(normalised),
    ...references(normalised),
    ...unknownTargets(normalised),
    ...optionalAuthentication(configuration),
    ...inlineCredentials(configuration),
    ...doubts(configuration),
    ...neverTrue(configuration),
    ...deprecated(configuration)
  ]
}

/** What holds of the parts of a file together, and says little where one of them is wrong. */
const doubtfulWhole = (configuration: Configuration): ReadonlyArray<Complaint> => {
  const { normalised } = configuration
  return [
    ...servesNothing(normalised),
    ...shadowed(normalised),
    ...unservedHosts(normalised),
    ...withoutBackend(configuration),
    ...unusedModels(configuration),
    ...adminExposed(configuration),
    ...dynamicExposed(configuration),
    ...keysExposed(configuration),
    ...unguarded(configuration),
    ...rawPaths(configuration),
    ...repeatedHeaders(configuration)
  ]
}

/** Every warning, in the order of the text. */
export const lint = (configuration: Configuration): ReadonlyArray<Problem> =>
  inOrder(
    [...doubtfulWhole(configuration), ...doubtfulParts(configuration)].map((complaint) =>
      configuration.positions.locate(complaint)
    )
  )
