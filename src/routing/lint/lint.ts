/** Looks at a configuration that is right for what is probably not meant: warnings with codes, each at its place. */
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

/** Every warning, in the order of the text. */
export const lint = (configuration: Configuration): ReadonlyArray<Problem> => {
  const { normalised, positions } = configuration
  const complaints = [
    ...servesNothing(normalised),
    ...shadowed(normalised),
    ...replacedRoutes(normalised),
    ...unservedHosts(normalised),
    ...references(normalised),
    ...unknownTargets(normalised),
    ...withoutBackend(configuration),
    ...unusedModels(configuration),
    ...adminExposed(configuration),
    ...dynamicExposed(configuration),
    ...keysExposed(configuration),
    ...optionalAuthentication(configuration),
    ...unguarded(configuration),
    ...rawPaths(configuration),
    ...inlineCredentials(configuration),
    ...doubts(configuration),
    ...neverTrue(configuration),
    ...repeatedHeaders(configuration),
    ...deprecated(configuration)
  ]
  return inOrder(complaints.map((complaint) => positions.locate(complaint)))
}
