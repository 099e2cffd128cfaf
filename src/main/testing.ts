/**
 * Package export `headgate/testing`: requests and configurations of policies as arbitraries, one policy or a whole
 * configuration run in memory, the laws that every policy keeps, and cases as data.
 */
export {
  type Configuration,
  type ConfigurationOptions,
  type Content,
  configurations,
  content,
  type Request,
  requests
} from "./testing/arbitraries.ts"
export { type CaseFile, decodeCase, readCase } from "./testing/case-file.ts"
export { issuer, keySet, token } from "./testing/issuer.ts"
export { type Law, LawBroken } from "./testing/law.ts"
export { traceProblems } from "./testing/order.ts"
export { type Played, type PlayOptions, play } from "./testing/play.ts"
export { type Example, type LawOptions, policyLaws, registryLaws } from "./testing/policy-laws.ts"
export { CaseFailed, type CaseRun, runCase, runWholeCase } from "./testing/run-case.ts"
export { type Vocabulary, vocabulary } from "./testing/vocabulary.ts"
export { type Attached, compileWay, registryOf } from "./testing/way.ts"
export { type Whole, type WholeOptions, whole } from "./testing/whole.ts"
export {
  type BackendAnswer,
  type BackendDown,
  type BackendSaid,
  type OutsideAnswer,
  type Received,
  World,
  type WorldOptions,
  type WorldServices
} from "./testing/world.ts"
