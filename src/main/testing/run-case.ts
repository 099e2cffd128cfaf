/** Runs a case in a world of its own, watched and unwatched, and tells what is not as the case says. */
import { isDeepStrictEqual } from "node:util"
import { Data, Effect, Layer, Result, Schema, type Scope } from "effect"
import { explain } from "../../../spec/config/explain.ts"
import { formatPath } from "../../../spec/config/path.ts"
import type { StageMessage } from "../../../spec/trace-events.ts"
import { compile as compileExpression } from "../../cel/expression.ts"
import { HeaderList } from "../../http/header-list.ts"
import type { Services } from "../../pipeline/registry.ts"
import type { Listener } from "../../pipeline/route.ts"
import type { StageFinished } from "../../pipeline/run.ts"
import type { AnyPolicy, ConfigPath, ConfigProblem } from "../../pipeline/stage.ts"
import type { Ports } from "../configuration/distribution.ts"
import type { Request } from "./arbitraries.ts"
import {
  type CaseExpectation,
  type CaseFile,
  type CaseSaid,
  headerLines,
  requestOf,
  stepsOf,
  textOf
} from "./case-file.ts"
import { differences } from "./expectation.ts"
import { type Played, type PlayOptions, play } from "./play.ts"
import { type AnyServiceOptions, layerOf, type Optional, type ServiceOptions } from "./services.ts"
import { type Drawn, undrawn } from "./transitions.ts"
import { compileWay, registryOf } from "./way.ts"
import { type WholeOptions, whole } from "./whole.ts"
import { type BackendSaid, type OutsideAnswer, type Received, World, type WorldOptions } from "./world.ts"

/** Something did not come as a case says. */
export class CaseFailed extends Data.TaggedError("CaseFailed")<{
  readonly shows: string
  readonly problems: ReadonlyArray<string>
}> {
  override get message() {
    return `${this.shows}: ${this.problems.join("\n")}`
  }
}

/** What a case has shown. */
export interface CaseRun {
  /** Whether it is about a configuration that is refused. */
  readonly refused: boolean
  /** What the nodes of each policy made of its requests, and those of a terminal around its call. */
  readonly outcomes: ReadonlyMap<string, ReadonlySet<StageFinished["outcome"]>>
  /** What came of the calls of backends. */
  readonly calls: ReadonlySet<"next" | "failed">
}

/** What is compiled, and how it is asked. */
interface Opened {
  readonly world: World
  readonly send: (request: Request, watched: boolean, answered: PlayOptions["answered"]) => Effect.Effect<Played>
  /** The ways that a request can take, where they are known. */
  readonly ways?: ReadonlyArray<Drawn>
}
/** Fails with the lines by which a configuration is refused. */
type Open<R> = (options: WorldOptions) => Effect.Effect<Opened, ReadonlyArray<string>, R | Scope.Scope>

/** Runs a case of one policy. */
export const runCase = <const P extends AnyPolicy>(
  policy: P,
  file: CaseFile,
  ...[options = {} as ServiceOptions<Services<readonly [P]>>]: Optional<ServiceOptions<Services<readonly [P]>>>
): Effect.Effect<CaseRun, CaseFailed> => {
  const site = file.site ?? (policy.sites.includes("route") ? "route" : policy.sites[0]!)
  const services = layerOf<readonly [P]>((options as AnyServiceOptions).layer)
  return bothWays(file, (worldOptions) =>
    Effect.gen(function* () {
      const decoded = yield* decodedBy(policy.schema, file.config)
      const world = new World(worldOptions)
      const context = yield* Layer.build(Layer.fresh(services(world)))
      const attached = { [site]: { [policy.name]: decoded } }
      // The compiler cannot subtract the services of an unknown policy from themselves.
      const compiled = Effect.provideContext(
        compileWay(registryOf(policy), attached, world.backend),
        context
      ) as Effect.Effect<Listener, ReadonlyArray<ConfigProblem>, Scope.Scope>
      // Where the policy is attached is no part of the case.
      const listener = yield* Effect.mapError(compiled, (problems) =>
        problems.map(({ path, message }) => lineOf({ path: path.slice(2), message }))
      )
      const { paths = "normalised" } = file
      return {
        world,
        send: (request, watched, answered) => play(listener, request, world, watched, { paths, answered })
      }
    })
  )
}

/** Runs a case of a whole configuration. */
export const runWholeCase = <R = Ports>(
  file: CaseFile,
  options: Pick<WholeOptions<R>, "distribution" | "env"> = {}
): Effect.Effect<CaseRun, CaseFailed, Exclude<Exclude<R, Ports>, Scope.Scope>> =>
  bothWays(file, (worldOptions) =>
    whole(file.configuration ?? "", { ...worldOptions, ...options }).pipe(
      Effect.mapError(({ problems }) =>
        problems.map(({ line, column, path, message }) => `${line}:${column} ${path}: ${message}`)
      ),
      Effect.map(({ world, send, ways }) => ({
        world,
        ways,
        send: (request, watched, answered) => send(request, { watched, answered })
      }))
    )
  )

const lineOf = ({ path, message }: { readonly path: ConfigPath; readonly message: string }) =>
  `${formatPath(path)}: ${message}`

const decodedBy = (schema: Schema.Codec<unknown, unknown>, config: unknown) => {
  const decoded = Schema.decodeUnknownResult(schema, { errors: "all", onExcessProperty: "error" })(config)
  if (Result.isSuccess(decoded)) return Effect.succeed(decoded.success)
  const lookup = (path: ConfigPath) =>
    path.reduce<unknown>((at, key) => (at as Record<string, unknown> | undefined)?.[key], config)
  return Effect.fail(explain(decoded.failure.issue, lookup).map(lineOf))
}

/** What came of one request, in a form that can be compared. */
interface Seen {
  readonly closed: boolean
  readonly status: number
  /** What is kept stands by its name: a session has another id each time. */
  readonly headers: ReadonlyArray<string>
  readonly body: string
  readonly upstream: Received | undefined
  readonly held: ReadonlyArray<string>
  readonly took: number
  readonly called: ReadonlyArray<string>
}

interface Ran extends CaseRun {
  readonly seen: ReadonlyArray<Seen>
  readonly problems: ReadonlyArray<string>
}

/** A watched request is answered like one that is not. */
const bothWays = <R>(file: CaseFile, open: Open<R>): Effect.Effect<CaseRun, CaseFailed, Exclude<R, Scope.Scope>> =>
  Effect.gen(function* () {
    const watched = yield* Effect.scoped(run(file, open, true))
    const unwatched = yield* Effect.scoped(run(file, open, false))
    const problems = [
      ...watched.problems,
      ...unwatched.problems
        .filter((problem) => !watched.problems.includes(problem))
        .map((line) => `unwatched: ${line}`),
      ...(isDeepStrictEqual(watched.seen, unwatched.seen)
        ? []
        : [`watched ${JSON.stringify(watched.seen)}, unwatched ${JSON.stringify(unwatched.seen)}`])
    ]
    if (problems.length > 0) return yield* new CaseFailed({ shows: file.shows, problems })
    return { refused: watched.refused, outcomes: watched.outcomes, calls: watched.calls }
  })

/** Runs the steps of a case in a world of their own. */
const run = <R>(file: CaseFile, open: Open<R>, watched: boolean): Effect.Effect<Ran, never, R | Scope.Scope> =>
  Effect.gen(function* () {
    const outside: Record<string, CaseSaid> = { ...file.outside }
    const opened = yield* Effect.result(
      open({
        start: file.now === undefined ? undefined : Date.parse(file.now),
        backend: backendsOf(file),
        outside: ({ method, url }) => outsideOf(outside[`${method} ${url}`] ?? { fails: "no such server" }),
        servers: file.servers
      })
    )
    if (Result.isFailure(opened)) {
      const problems = differences(file.rejects ?? [], opened.failure, "what is refused")
      return { refused: true, outcomes: new Map(), calls: new Set(), seen: [], problems }
    }
    const problems = file.rejects === undefined ? [] : ["the configuration should be refused"]
    const { world, send, ways } = opened.success
    const outcomes = new Map<string, Set<StageFinished["outcome"]>>()
    const calls = new Set<"next" | "failed">()
    const kept = new Map<string, string>()
    const all: Array<Seen> = []
    let told = 0
    for (const [index, step] of stepsOf(file).entries()) {
      Object.assign(outside, step.outside)
      if (step.after !== undefined) yield* Effect.provideContext(Effect.sleep(step.after * 1000), world.timing)
      const began = world.clock()
      let held: ReadonlyArray<string> = []
      const played = yield* send(filled(requestOf(step.request ?? {}), kept), watched, (x) => {
        held = (step.expect.holds ?? []).filter((source) =>
          Result.getOrThrow(compileExpression(source, { phase: "response" })).test(x.variables)
        )
      })
      const answer = new HeaderList([...played.headers])
      for (const [name, header] of Object.entries(step.keeps ?? {})) kept.set(name, answer.get(header) ?? "")
      const names = new Map(Array.from(kept, ([name, value]) => [value, `\${${name}}`]))
      const seen: Seen = {
        closed: played.closed,
        status: played.status,
        headers: played.headers.map((text) => names.get(text) ?? text),
        body: played.body,
        upstream: played.received,
        held,
        took: (world.clock() - began) / 1000,
        called: world.called.slice(told)
      }
      told = world.called.length
      all.push(seen)
      for (const { step: node, outcome } of played.stages)
        outcomes.set(node.policy, (outcomes.get(node.policy) ?? new Set()).add(outcome))
      if (played.call !== undefined) calls.add(played.call)
      const found = [
        ...problemsOf(step.expect, seen, watched ? played.told : undefined),
        ...played.defects.map((defect) => `something threw: ${defect}`),
        ...(played.failure === undefined || played.closed ? [] : [`the answer broke off: ${played.failure}`]),
        ...(ways === undefined || !watched ? [] : strayed(played, ways))
      ]
      problems.push(...found.map((problem) => `request ${index + 1}: ${problem}`))
    }
    return { refused: false, outcomes, calls, seen: all, problems }
  })

/** Where a request has come that no graph leads to. */
const strayed = (played: Played, ways: ReadonlyArray<Drawn>): ReadonlyArray<string> => {
  const own = ways.filter(({ ids }) => played.stages.every(({ step }) => ids.has(step)))
  const problems = own.map((way) => undrawn(played, way))
  return problems.some(({ length }) => length === 0) ? [] : (problems[0] ?? ["its nodes are in no graph"])
}

const milliseconds = (seconds: number | undefined) => (seconds === undefined ? undefined : seconds * 1000)

const backendsOf = ({ backend = {}, backends = {} }: CaseFile): ((received: Received) => BackendSaid) => {
  const usual = inTurn(backend)
  const single = new Map(Object.entries(backends).map(([address, said]) => [address, inTurn(said)]))
  return ({ target }) => (single.get(target) ?? usual)()
}

const inTurn = (said: CaseSaid | ReadonlyArray<CaseSaid>): (() => BackendSaid) => {
  const all = (Array.isArray(said) ? said : [said]).map(backendOf)
  let next = 0
  return () => all[Math.min(next++, all.length - 1)] ?? backendOf({})
}

const backendOf = (said: CaseSaid): BackendSaid => {
  const after = milliseconds(said.after)
  if ("fails" in said) return { fails: said.fails, after }
  const { status = 200, headers, body, streamed = false } = said
  return {
    status,
    headers: headerLines(headers),
    body: body === undefined ? undefined : { chunks: [textOf(body)], streamed },
    after
  }
}

/** An answer of a server that a policy asks, in the form of a world. */
export const outsideOf = (answer: CaseSaid): OutsideAnswer => {
  const after = milliseconds(answer.after)
  if ("fails" in answer) return { fails: answer.fails, after }
  const { status = 200, headers, body } = answer
  return { status, headers: HeaderList.from(headerLines(headers)), body: Buffer.from(textOf(body)), after }
}

/** The request with what was kept of earlier answers. */
const filled = (request: Request, kept: ReadonlyMap<string, string>): Request => ({
  ...request,
  headers: request.headers.map(
    ([name, value]) => [name, value.replace(/\$\{([^}]+)\}/g, (whole, key: string) => kept.get(key) ?? whole)] as const
  )
})

const headerProblems = (expected: CaseExpectation["headers"], headers: ReadonlyArray<string>, where: string) => {
  const list = new HeaderList([...headers])
  return Object.entries(expected ?? {}).flatMap(([name, value]) =>
    differences(value === null ? [] : [value].flat(), list.getAll(name), `${where} header ${name}`)
  )
}

const bodyProblems = (expected: unknown, body: string, where: string): ReadonlyArray<string> => {
  if (expected === undefined) return []
  if (!isData(expected)) return differences(expected, body, `${where} body`)
  try {
    const found: unknown = JSON.parse(body)
    return isDeepStrictEqual(found, expected) ? [] : differences(expected, found, `${where} body`)
  } catch {
    return [`${where} body: expected JSON, got ${body}`]
  }
}

/** Whether a body is expected to be JSON; otherwise it is a text, or like one. */
const isData = (expected: unknown): boolean =>
  Array.isArray(expected) || (typeof expected === "object" && Object.getPrototypeOf(expected) === Object.prototype)

const problemsOf = (
  expected: CaseExpectation,
  seen: Seen,
  told: ReadonlyArray<StageMessage> | undefined
): ReadonlyArray<string> => {
  const problems: Array<string> = []
  if ((expected.closed ?? false) !== seen.closed)
    problems.push(seen.closed ? "the connection was closed" : "the connection should be closed")
  if (expected.status !== undefined && seen.status !== expected.status)
    problems.push(`status: expected ${expected.status}, got ${seen.status}: ${seen.body}`)
  problems.push(...headerProblems(expected.headers, seen.headers, "the answer's"))
  problems.push(...bodyProblems(expected.body, seen.body, "the answer's"))
  if (expected.upstream === null && seen.upstream !== undefined) problems.push("the backend was called")
  if (expected.upstream !== null && expected.upstream !== undefined) {
    const { headers, body, ...rest } = expected.upstream
    if (seen.upstream === undefined) problems.push("the backend was not called")
    else {
      const { method, path, authority: host } = seen.upstream
      problems.push(...differences(rest, { method, path, host }, "the backend's request"))
      problems.push(...headerProblems(headers, seen.upstream.headers, "the backend's"))
      problems.push(...bodyProblems(body, seen.upstream.body, "the backend's"))
    }
  }
  if (expected.holds !== undefined) problems.push(...differences(expected.holds, seen.held, "holds"))
  if (expected.took !== undefined) problems.push(...differences(expected.took, seen.took, "took"))
  if (expected.called !== undefined) problems.push(...differences(expected.called, seen.called, "called"))
  if (told !== undefined)
    for (const [kind, details] of Object.entries(expected.notes ?? {}))
      problems.push(...differences([details], noted(told, kind), kind))
  return problems
}

/** What was told: events of their own by type, all others by kind. */
const noted = (told: ReadonlyArray<StageMessage>, kind: string): ReadonlyArray<unknown> =>
  told.flatMap((message): ReadonlyArray<unknown> => {
    if ("kind" in message) return message.kind === kind ? [message.details] : []
    const { type, ...details } = message
    return type === kind ? [JSON.parse(JSON.stringify(details))] : []
  })
