/** The laws of one policy, and of policies together. */
import { Arbitrary, Effect, Result, Schema, SchemaAST } from "effect"
import type { Registry, Services } from "../../pipeline/registry.ts"
import type { Site } from "../../pipeline/site.ts"
import type { AnyPolicy, OutcomeKind } from "../../pipeline/stage.ts"
import { anyOf, type ConfigurationOptions, type Request } from "./arbitraries.ts"
import { type Case, caseOf, casesOf, mixturesOf, playAll, type Subject } from "./case.ts"
import { failingOpenChangesNothing, failingOpenNeverRefuses, healthHasOneAnswer } from "./fail-mode-laws.ts"
import { type Law, LawBroken } from "./law.ts"
import {
  attemptsLeaveNothing,
  bodiesPass,
  conditionsDecide,
  configurationsSurvive,
  eventsInOrder,
  everyRunIsTimed,
  interruptionReleases,
  loopsAgree,
  nodesAreNamed,
  nothingThrows,
  runsAreDrawn,
  secretsStaySecret
} from "./laws.ts"
import { type AnyServiceOptions, layerOf, type Optional, type ServiceOptions } from "./services.ts"
import { registryOf } from "./way.ts"
import type { WorldOptions } from "./world.ts"

/** A configuration that generation hardly meets, with what to ask of it. */
export interface Example {
  /** As a file has it. */
  readonly config: unknown
  /** Default: each site of the policy. */
  readonly site?: Site | undefined
  /** One after the other. Default: generated. */
  readonly requests?: ReadonlyArray<Request> | undefined
  readonly outside?: WorldOptions["outside"]
}

interface Options extends ConfigurationOptions {
  readonly examples?: ReadonlyArray<Example> | undefined
  /** Generated cases of each law. Default 60. */
  readonly runs?: number | undefined
  /**
   * Whether a policy changes bodies, or does by its configuration: then that they pass untouched is no law for it. Default: what
   * the policy says of itself.
   */
  readonly changesBodies?: boolean | ((policy: string, config: unknown) => boolean) | undefined
}

export type LawOptions<R> = Options & ServiceOptions<R>

/** The laws of a policy. Each of them stands for itself. */
export const policyLaws = <const P extends AnyPolicy>(
  policy: P,
  ...[options = {} as LawOptions<Services<readonly [P]>>]: Optional<LawOptions<Services<readonly [P]>>>
): ReadonlyArray<Law> => {
  const { examples = [], runs = 60, changesBodies, layer } = options as Options & AnyServiceOptions
  const generated = casesOf(policy, options)
  const given = examples.flatMap((example) => exampleCases(policy, example))
  const cases = given.length === 0 ? generated : anyOf(generated, generated, anyOf(...given))
  const subject: Subject<readonly [P]> = { registry: registryOf(policy), cases, layer: layerOf(layer) }
  return [
    reachesItsOutcomes(policy, { ...subject, cases: generated }, given, runs * 3),
    configurationsSurvive(subject, runs),
    nodesAreNamed(subject, runs),
    loopsAgree(subject, runs),
    nothingThrows(subject, runs),
    everyRunIsTimed(subject, runs),
    eventsInOrder(subject, runs),
    runsAreDrawn(subject, runs),
    interruptionReleases(subject, runs),
    ...(policy.sites.some((site) => site !== "connection") ? [conditionsDecide(subject, runs)] : []),
    ...(policy.outcomes.includes("next") ? [attemptsLeaveNothing(subject, runs)] : []),
    // Where every request is answered or refused, no body passes.
    ...(changesBodies === true || !policy.outcomes.includes("next")
      ? []
      : [bodiesPass(subject, runs, changing(subject.registry, changesBodies))]),
    ...(policy.failOpen === undefined
      ? []
      : [
          healthHasOneAnswer(subject, runs),
          failingOpenNeverRefuses(subject, runs),
          failingOpenChangesNothing(subject, runs)
        ]),
    ...(holdsSecrets(policy) ? [secretsStaySecret(subject, runs)] : [])
  ]
}

/** The laws of policies together, each of them at some sites now and then. */
export const registryLaws = <const L extends ReadonlyArray<AnyPolicy>>(
  registry: Registry<L>,
  ...[options = {} as LawOptions<Services<L>>]: Optional<LawOptions<Services<L>>>
): ReadonlyArray<Law> => {
  const { runs = 60, layer, changesBodies } = options as Options & AnyServiceOptions
  const subject: Subject<L> = { registry, cases: mixturesOf(registry.policies, options), layer: layerOf(layer) }
  return [
    loopsAgree(subject, runs),
    nothingThrows(subject, runs),
    everyRunIsTimed(subject, runs),
    eventsInOrder(subject, runs),
    runsAreDrawn(subject, runs),
    interruptionReleases(subject, runs),
    conditionsDecide(subject, runs),
    attemptsLeaveNothing(subject, runs),
    ...(changesBodies === true ? [] : [bodiesPass(subject, runs, changing(registry, changesBodies))]),
    secretsStaySecret(subject, runs)
  ]
}

/** Who changes bodies, as it is said of the policies, or by themselves. */
const changing = ({ byName }: Pick<Registry, "byName">, said: Options["changesBodies"]) =>
  typeof said === "function"
    ? said
    : (policy: string, config: unknown) => said !== false && byName.get(policy)?.changesBodies?.(config) === true

/** The cases that an example stands for. */
const exampleCases = (policy: AnyPolicy, example: Example): ReadonlyArray<Arbitrary.Arbitrary<Case>> => {
  const schema: Schema.Codec<unknown, unknown> = policy.schema
  const decoded = Schema.decodeUnknownResult(schema, { onExcessProperty: "error" })(example.config)
  if (Result.isFailure(decoded)) return []
  const config = { written: example.config, decoded: decoded.success }
  return (example.site === undefined ? policy.sites : [example.site]).map((site) =>
    Arbitrary.map(caseOf({ [site]: { [policy.name]: config } }), (one) => ({
      ...one,
      outside: example.outside,
      requests: example.requests ?? one.requests
    }))
  )
}

const kinds: Readonly<Record<string, OutcomeKind | undefined>> = {
  next: "next",
  responded: "respond",
  failed: "fail",
  failedOpen: "fail"
}

/** At least so many of the generated configurations must compile. */
const compilable = 0.9

const reachesItsOutcomes = <L extends ReadonlyArray<AnyPolicy>>(
  policy: AnyPolicy,
  subject: Subject<L>,
  given: ReadonlyArray<Arbitrary.Arbitrary<Case>>,
  count: number
): Law => {
  const name = "its configurations compile, and requests reach each outcome that it declares and no other"
  const broken = (detail: string) => new LawBroken({ law: name, detail })
  const check = Effect.gen(function* () {
    const sample = (arbitrary: Arbitrary.Arbitrary<Case>, size: number) =>
      Effect.mapError(Arbitrary.sampleEffect(arbitrary, { count: size, maxDiscards: 10_000, seed: 1 }), () =>
        broken("its schema hardly yields a value")
      )
    const reached = new Set<OutcomeKind>()
    const refused: Array<string> = []
    const run = (one: Case) =>
      Effect.match(playAll(subject, one, true), {
        onSuccess: ({ played }) => {
          for (const { outcome } of played.flatMap(({ stages }) => stages)) {
            const kind = kinds[outcome]
            if (kind !== undefined) reached.add(kind)
          }
        },
        onFailure: (problems) => {
          refused.push(problems.map(({ path, message }) => `${path.join(".")}: ${message}`).join("; "))
        }
      })
    yield* Effect.forEach(yield* sample(subject.cases, count), run)
    if (refused.length > count * (1 - compilable))
      return yield* broken(
        `${refused.length} of ${count} generated configurations do not compile, as: ${refused.slice(0, 3).join("\n")}`
      )
    for (const example of given) yield* Effect.forEach(yield* sample(example, 1), run)
    const declared = new Set<OutcomeKind>(policy.outcomes)
    const unreached = [...declared.difference(reached)]
    const undeclared = [...reached.difference(declared)]
    if (unreached.length > 0) return yield* broken(`never reached: ${unreached.join(", ")}`)
    if (undeclared.length > 0) return yield* broken(`reached, and not declared: ${undeclared.join(", ")}`)
  })
  return { name, check }
}

/** Whether a file may hold a credential in the configuration of a policy. */
const holdsSecrets = (policy: AnyPolicy): boolean => {
  const visited = new Set<SchemaAST.AST>()
  const visit = (ast: SchemaAST.AST): boolean => {
    if (visited.has(ast)) return false
    visited.add(ast)
    if (ast.annotations?.["secret"] === true || ast.checks?.some((check) => check.annotations?.["secret"] === true))
      return true
    if (SchemaAST.isSuspend(ast)) return visit(ast.thunk())
    if (SchemaAST.isUnion(ast)) return ast.types.some(visit)
    if (SchemaAST.isArrays(ast)) return [...ast.elements, ...ast.rest].some(visit)
    if (SchemaAST.isObjects(ast))
      return [...ast.propertySignatures.map(({ type }) => type), ...ast.indexSignatures.map(({ type }) => type)].some(
        visit
      )
    return false
  }
  return visit(SchemaAST.toEncoded(policy.schema.ast))
}
