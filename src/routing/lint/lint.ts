/** Looks at a configuration that is right for what is probably not meant: warnings with codes, each at its place. */
import type { Complaint } from "../../../spec/config/positions.ts"
import { inOrder, type Problem } from "../../../spec/config/problem.ts"
import type { Configuration } from "../read.ts"
import { deprecated } from "./deprecated.ts"
import {
  adminExposed,
  dynamicExposed,
  inlineCredentials,
  insecureTls,
  keysExposed,
  openCors,
  optionalAuthentication
} from "./exposure.ts"
import { limits, remoteLimits } from "./limits.ts"
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
import { unreadStreams } from "./unread-streams.ts"

/** What holds of a part of a file, whatever stands beside it. */
export const doubtfulParts = (configuration: Configuration): ReadonlyArray<Complaint> => {
  const { normalised } = configuration
  return [
    ...replacedRoutes(normalised),
    ...references(normalised),
    ...unknownTargets(normalised),
    ...optionalAuthentication(configuration),
    ...inlineCredentials(configuration),
    ...insecureTls(configuration),
    ...openCors(configuration),
    ...limits(configuration),
    ...remoteLimits(configuration),
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
    ...withoutBackend(normalised),
    ...unusedModels(normalised),
    ...adminExposed(configuration),
    ...dynamicExposed(configuration),
    ...keysExposed(configuration),
    ...unguarded(configuration),
    ...rawPaths(configuration),
    ...unreadStreams(configuration),
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
