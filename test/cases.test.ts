/** Runs every case of every policy: the policy alone, compiled and served as the proxy does it, watched and unwatched. */
import { globSync } from "node:fs"
import { basename, dirname, join, relative, resolve } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Exit, Layer, Option, Result, Schema } from "effect"
import { TestClock } from "effect/testing"
import * as Files from "../layers/files.ts"
import * as KeySets from "../layers/jwks/live.ts"
import * as ConsoleLog from "../layers/log/console.ts"
import * as Buckets from "../layers/rate-limits/memory.ts"
import { explain } from "../spec/config/explain.ts"
import { formatPath } from "../spec/config/path.ts"
import { compile as compileExpression } from "../src/cel/expression.ts"
import { HeaderList } from "../src/http/header-list.ts"
import { type Answer, RequestHead } from "../src/http/message.ts"
import { compileSite, responseSteps, type SiteGraph } from "../src/pipeline/compile.ts"
import { Exchange } from "../src/pipeline/exchange.ts"
import type { Backend, Listener, Route } from "../src/pipeline/route.ts"
import { observedLoop, plainLoop } from "../src/pipeline/run.ts"
import { makeServe, noHooks } from "../src/pipeline/serve.ts"
import type { Site } from "../src/pipeline/stage.ts"
import type { Watch } from "../src/pipeline/watch.ts"
import { watchHooks, watchStages } from "../src/pipeline/watch.ts"
import { FetchFailed, HttpFetch } from "../src/services/http-fetch.ts"
import { Log } from "../src/services/log.ts"
import { Monotonic } from "../src/services/monotonic.ts"
import { policies } from "../stages/registry.ts"
import { type Case, type CaseAnswer, type CaseStep, type Expectation, readCase } from "./case.ts"
import { differences } from "./expectation.ts"

const root = resolve(import.meta.dirname, "..")

const camel = (kebab: string) => kebab.replace(/-([a-z])/g, (_, letter: string) => letter.toUpperCase())
const bytes = (body: unknown) =>
  new TextEncoder().encode(body === undefined ? "" : typeof body === "string" ? body : JSON.stringify(body))
const textOf = (body: unknown) =>
  body === undefined ? "" : typeof body === "string" ? body : Buffer.from(body as Uint8Array).toString("utf8")

const headerList = (headers: CaseAnswer["headers"] = {}) =>
  HeaderList.from(
    Object.entries(headers).flatMap(([name, value]) => [value].flat().map((line) => [name, line] as const))
  )

const quiet = Layer.succeed(Log, ConsoleLog.make({ filter: "off", format: "text", write: () => {}, now: () => 0 }))

/** What came of one request, in a form that can be compared. */
interface Seen {
  readonly status: number
  readonly headers: ReadonlyArray<string>
  readonly body: string
  readonly upstream: { method: string; path: string; host: string; headers: HeaderList; body: string } | null
  readonly held: ReadonlyArray<string>
}

/** A watcher that keeps what stages tell: events of their own by type, all others by kind. */
const noting = (notes: Array<readonly [kind: string, details: unknown]>): Watch => {
  const nothing = () => {}
  return {
    ...{ started: nothing, entering: nothing, passed: nothing, selected: nothing, calling: nothing, called: nothing },
    ...{ ready: nothing, final: nothing, stage: nothing, outbound: () => ({ context: undefined, ended: nothing }) },
    notes: true,
    told: ({ type, ...rest }) => {
      const [kind, details] = "kind" in rest ? [rest.kind, rest.details] : [type, rest]
      notes.push([kind, JSON.parse(JSON.stringify(details))])
    }
  }
}

/** The problems of a configuration as lines, or what it compiles to. */
const compiled = (name: string, site: Site, config: unknown) =>
  Effect.gen(function* () {
    const policy = policies.byName.get(name)
    if (policy === undefined) throw new Error(`there is no policy ${name}`)
    const decoded = Schema.decodeUnknownResult(policy.schema as Schema.Codec<unknown>, {
      errors: "all",
      onExcessProperty: "error"
    })(config)
    if (Result.isFailure(decoded)) {
      const lookup = (path: ReadonlyArray<string | number>) =>
        path.reduce<unknown>((at, key) => (at as Record<string, unknown> | undefined)?.[key], config)
      return explain(decoded.failure.issue, lookup).map(({ path, message }) => `${formatPath(path)}: ${message}`)
    }
    const entries = [{ config: decoded.success, path: [] }]
    const exit = yield* Effect.exit(compileSite(policies, site, [{ name, entries }]))
    if (Exit.isSuccess(exit)) return exit.value
    const problems = Option.getOrThrow(Cause.findErrorOption(exit.cause))
    return problems.map(({ path, message }) => `${formatPath(path)}: ${message}`)
  })

/** Runs the steps of a case in a world of its own, through one of the two loops. */
const play = (name: string, scenario: Case, watched: boolean) => {
  const outside = { ...scenario.outside }
  const calls: Array<string> = []
  const start = Date.parse(scenario.now ?? "2026-01-01T00:00:00Z")
  let now = start
  const monotonic = () => now - start
  const fetch = Layer.succeed(HttpFetch, {
    fetch: ({ method, url }) =>
      Effect.suspend(() => {
        calls.push(`${method} ${url}`)
        const answer = outside[`${method} ${url}`] ?? { fails: "no such server" }
        return "fails" in answer
          ? Effect.fail(new FetchFailed({ url, detail: answer.fails }))
          : Effect.succeed({
              status: answer.status ?? 200,
              headers: headerList(answer.headers),
              body: bytes(answer.body)
            })
      })
  })
  const services = Layer.mergeAll(
    fetch,
    KeySets.layer.pipe(Layer.provide(fetch), Layer.provide(Files.layer), Layer.provide(quiet)),
    Buckets.layer.pipe(Layer.provide(Layer.succeed(Monotonic, monotonic)))
  )
  const policy = policies.byName.get(name)
  const site = scenario.site ?? (policy?.sites.includes("route") === false ? policy.sites[0]! : "route")

  const one = (graph: SiteGraph, step: CaseStep) =>
    Effect.gen(function* () {
      now += (step.after ?? 0) * 1000
      Object.assign(outside, step.outside)
      yield* TestClock.setTime(now)
      const asked = step.request ?? {}
      const body = asked.body === undefined ? undefined : bytes(asked.body)
      const head = new RequestHead(
        asked.method ?? (body === undefined ? "GET" : "POST"),
        asked.scheme ?? "http",
        asked.host ?? "example.com",
        asked.path ?? "/",
        headerList(asked.headers)
      )
      // A path without a normal form stays, as it does where the configuration leaves paths as they came.
      head.moveTo(head.pathAndQuery)
      const peer = { address: "192.0.2.1", port: 40000, rawAddress: "192.0.2.1", rawPort: 40000 }
      const x = new Exchange(head, body, peer, now, monotonic())
      const notes: Array<readonly [kind: string, details: unknown]> = []
      if (watched) x.watch = noting(notes)
      let upstream: Seen["upstream"] = null
      const at = (here: Site) => (site === here ? graph.request : [])
      const response = responseSteps(policies, "response", [graph])
      const backend: Backend = {
        name: "backend",
        type: "static",
        protocol: "http",
        target: "backend.example:80",
        steps: at("backend"),
        backendResponse: responseSteps(policies, "backendResponse", [graph]),
        response,
        effective: () => ({}),
        call: (called) =>
          Effect.map(called.readRequestBody(), (sent): Answer => {
            const { method, pathAndQuery, authority, headers } = called.request
            upstream = { method, path: pathAndQuery, host: authority, headers: headers.clone(), body: textOf(sent) }
            const answer = scenario.backend ?? {}
            return {
              status: answer.status ?? 200,
              headers: headerList(answer.headers),
              body: answer.body === undefined ? undefined : bytes(answer.body)
            }
          })
      }
      const route: Route = {
        key: "default/route0",
        name: "route0",
        namespace: "default",
        rule: undefined,
        steps: at("route"),
        response,
        effective: () => ({}),
        choose: () => backend
      }
      const listener: Listener = {
        key: "default/default",
        name: "default",
        bind: "bind/3000",
        gateway: "default/default",
        steps: at("gateway"),
        response,
        effective: () => ({}),
        select: () => ({ route, prefix: "/", evaluated: () => [] })
      }
      const defects: Array<unknown> = []
      const serve = watched
        ? makeServe(observedLoop(monotonic, watchStages), watchHooks, monotonic, (defect) => defects.push(defect.cause))
        : makeServe(plainLoop(monotonic), noHooks, monotonic, (defect) => defects.push(defect.cause))
      const answer = yield* serve(x, listener)
      assert.deepStrictEqual(defects, [], "something threw")
      x.finish({ status: answer.status, failure: undefined, bytes: 0 }, (cause) => defects.push(cause))
      assert.deepStrictEqual(defects, [], "something threw at the end")
      const held = (step.expect.holds ?? []).filter((source) => {
        const expression = Result.getOrThrow(compileExpression(source, { phase: "response" }))
        return expression.test(x.variables)
      })
      const seen: Seen = {
        status: answer.status,
        headers: answer.headers.flat,
        body: textOf(answer.body),
        upstream,
        held
      }
      check(step.expect, seen, calls, watched ? notes : undefined)
      return seen
    })

  return Effect.gen(function* () {
    yield* TestClock.setTime(now)
    const graph = yield* compiled(name, site, scenario.config)
    if (Array.isArray(graph)) return assert.deepStrictEqual(graph, scenario.rejects ?? [], "what is refused")
    assert.strictEqual(scenario.rejects, undefined, "the configuration should be refused")
    const steps = scenario.steps ?? [{ request: scenario.request ?? {}, expect: scenario.expect ?? {} }]
    return yield* Effect.forEach(steps, (step) => one(graph as SiteGraph, step))
  }).pipe(Effect.provide(services, { local: true }), Effect.scoped)
}

const checkHeaders = (expected: Expectation["headers"], headers: HeaderList, where: string) => {
  for (const [name, value] of Object.entries(expected ?? {}))
    assert.deepStrictEqual(headers.getAll(name), value === null ? [] : [value].flat(), `${where} header ${name}`)
}

const checkBody = (expected: unknown, body: string, where: string) => {
  if (expected === undefined) return
  assert.deepStrictEqual(typeof expected === "string" ? body : JSON.parse(body), expected, `${where} body`)
}

const check = (
  expected: Expectation,
  seen: Seen,
  calls: ReadonlyArray<string>,
  notes: ReadonlyArray<readonly [kind: string, details: unknown]> | undefined
) => {
  if (expected.status !== undefined) assert.strictEqual(seen.status, expected.status, seen.body)
  checkHeaders(expected.headers, new HeaderList([...seen.headers]), "answer's")
  checkBody(expected.body, seen.body, "answer's")
  if (expected.upstream === null) assert.strictEqual(seen.upstream, null, "the backend was called")
  else if (expected.upstream !== undefined) {
    assert.isNotNull(seen.upstream, "the backend was not called")
    const { headers, body, ...rest } = expected.upstream
    for (const [key, value] of Object.entries(rest))
      assert.strictEqual(seen.upstream?.[key as keyof typeof rest], value, `the backend's ${key}`)
    checkHeaders(headers, seen.upstream!.headers, "the backend's")
    checkBody(body, seen.upstream!.body, "the backend's")
  }
  if (expected.holds !== undefined) assert.deepStrictEqual(seen.held, expected.holds)
  if (expected.outside !== undefined) assert.deepStrictEqual(calls, expected.outside)
  if (expected.notes !== undefined && notes !== undefined)
    for (const [kind, details] of Object.entries(expected.notes))
      assert.deepStrictEqual(
        differences(
          [details],
          notes.filter((note) => note[0] === kind).map((note) => note[1]),
          kind
        ),
        []
      )
}

const files = globSync("stages/*/cases/*.yaml", { cwd: root }).toSorted()
const byPolicy = Map.groupBy(files, (file) => basename(dirname(dirname(file))))

describe("cases", () => {
  for (const [folder, cases] of byPolicy)
    describe(folder, () => {
      for (const file of cases) {
        const scenario = readCase(join(root, file))
        it.effect(`${basename(relative(root, file), ".yaml")}: ${scenario.shows}`, () =>
          Effect.gen(function* () {
            const name = camel(folder)
            assert.deepStrictEqual(yield* play(name, scenario, true), yield* play(name, scenario, false))
          })
        )
      }
    })
})
