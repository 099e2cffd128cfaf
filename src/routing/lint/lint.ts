/** Looks at a configuration that is right for what is probably not meant: warnings with codes, each at its place. */
import type { Path } from "../../../spec/config/path.ts"
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
const doubtfulParts = (configuration: Configuration): ReadonlyArray<Complaint> => {
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

const listening = ["gateways", "binds", "listeners", "llm", "mcp", "ui"]
const deciding = ["policies", ...listening]

/**
 * What holds of the parts of a file together. `misledBy` are the keys at or below which a mistake may make it say what is not
 * so: something that is left out because it is wrong may be what keeps it from saying so.
 */
const together: ReadonlyArray<{
  readonly look: (configuration: Configuration) => ReadonlyArray<Complaint>
  readonly misledBy: ReadonlyArray<string>
}> = [
  { look: ({ normalised }) => servesNothing(normalised), misledBy: listening },
  { look: ({ normalised }) => shadowed(normalised), misledBy: ["matches", "hostnames", "name", ...listening] },
  { look: ({ normalised }) => unservedHosts(normalised), misledBy: ["hostnames", ...listening] },
  { look: withoutBackend, misledBy: ["backends", ...deciding] },
  { look: unusedModels, misledBy: ["llm"] },
  { look: adminExposed, misledBy: ["backends", ...deciding] },
  { look: dynamicExposed, misledBy: ["backends", ...deciding] },
  { look: keysExposed, misledBy: ["backends", ...deciding] },
  { look: unguarded, misledBy: ["backends", "routeGroups", ...deciding] },
  { look: rawPaths, misledBy: ["matches"] },
  { look: repeatedHeaders, misledBy: [] }
]

/** What there is to say of a file in which something is wrong at some places. */
export const doubtfulRest = (configuration: Configuration, wrong: ReadonlyArray<Path>): ReadonlyArray<Complaint> => {
  const steps = new Set(wrong.flat())
  const trusted = together.filter(({ misledBy }) => !misledBy.some((key) => steps.has(key)))
  return [...trusted.flatMap(({ look }) => look(configuration)), ...doubtfulParts(configuration)]
}

/** Every warning, in the order of the text. */
export const lint = (configuration: Configuration): ReadonlyArray<Problem> =>
  inOrder(doubtfulRest(configuration, []).map((complaint) => configuration.positions.locate(complaint)))
