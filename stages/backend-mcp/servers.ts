/** An `mcp` backend at work: requests go to the relay, which holds the sessions; what it knows of a request goes to the log. */
import { createHash } from "node:crypto"
import { Effect, Exit, type Redacted, Result } from "effect"
import {
  type Answer,
  BackendAuthFailed,
  type ConfigPath,
  type ConfigProblem,
  HeaderList,
  Monotonic,
  slots,
  type TimedOut
} from "../../src/policy/policy.ts"
import {
  type Caller,
  CallTimes,
  type CompiledBackend,
  Kept,
  KeptKind,
  Log,
  Metrics,
  mcpAuthorizer,
  type Passage,
  revealedText,
  timeoutOf,
  type UpstreamOptions,
  type UpstreamTimedOut,
  within
} from "../../src/policy/terminal.ts"
import { noMcpFacts } from "../../src/protocols/mcp/call-record.ts"
import { defaultLimits, type McpTarget, mcpBackendConfig } from "../../src/protocols/mcp/config.ts"
import type { McpFacts, McpRelay, McpResponse, McpTimeLimit } from "../../src/protocols/mcp/contract.ts"
import { McpFamily } from "../../src/protocols/mcp/family.ts"
import { clientToken } from "../../src/protocols/mcp/headers.ts"
import { makeServers } from "../../src/protocols/mcp/http/server.ts"
import { McpProcess } from "../../src/protocols/mcp/process.ts"
import { makeMcpRelay } from "../../src/protocols/mcp/relay.ts"
import { ConfiguredCallers, CurrentCallers } from "./callers.ts"
import { withoutCredentials } from "./credentials.ts"
import { EventStreamBody } from "./event-stream-body.ts"
import type { Exchange, McpSlots } from "./exchange.ts"
import { McpRefused } from "./refused.ts"
import type { McpBackend } from "./schema.ts"
import { makeMcpSeries } from "./series.ts"
import { targetOf } from "./targets.ts"
import { observerOf } from "./watched.ts"

/** A relay, and how its targets are called now. */
interface Relaying {
  readonly relay: McpRelay
  readonly current: CurrentCallers
}

const relays = new KeptKind<Relaying>("mcp relay")

export const compileServers = (
  config: (typeof McpBackend)["Type"],
  at: ConfigPath,
  name: string,
  connections: UpstreamOptions,
  credentials: Redacted.Redacted<string> | undefined
) =>
  Effect.gen(function* () {
    const targets: Array<McpTarget> = []
    const callers = new Map<string, Caller>()
    const problems: Array<ConfigProblem> = []
    for (const [index, target] of config.targets.entries()) {
      const found = yield* Effect.result(targetOf(target, [...at, "targets", index], connections))
      if (Result.isFailure(found)) {
        problems.push(...found.failure)
        continue
      }
      const { target: compiled, caller } = found.success
      targets.push(compiled)
      if (caller !== undefined) callers.set(compiled.name, caller)
    }
    if (problems.length > 0) return yield* Effect.fail(problems)
    const configured = new ConfiguredCallers(callers)
    const { log } = yield* Log
    const now = yield* Monotonic
    const { owner, product, clock } = yield* McpProcess
    const { sessionIds, sessionTtl, identify } = yield* McpFamily
    const { statefulMode, prefixMode, failureMode, dnsRebindingProtection } = config
    const content = { targets, statefulMode, prefixMode, failureMode, dnsRebindingProtection }
    const { maxSessions: sessions, maxSessionsPerAddress: sessionsPerAddress, maxChildren: children } = config
    const limits = { ...defaultLimits, sessions, sessionsPerAddress, children }
    const shown = [credentials, ...Array.from(callers, ([target, of]) => [target, of.credentials])]
    // Bounds are no part of what a backend is: its sessions outlive a change of them where their ids alone bring them back.
    const backend = identify(revealedText([content, shown]))
    const { relay, current } = yield* (yield* Kept).keep(
      relays,
      `${backend} ${sessionTtl} ${sessions} ${sessionsPerAddress} ${children}`,
      Effect.gen(function* () {
        const current = new CurrentCallers(configured)
        const serverOf = yield* makeServers()
        const relay = yield* makeMcpRelay(
          mcpBackendConfig({ ...content, backend, name, limits, sessionTtlMillis: sessionTtl }),
          {
            sessionIds,
            owner,
            product,
            clock,
            servers: new Map(Array.from(callers.keys(), (target) => [target, serverOf(current.of(target))])),
            warn: ({ target, message }) => log("warn", "mcp", message, { backend: name, target })
          }
        )
        return { relay, current }
      })
    )
    const served: Served = {
      relay,
      current,
      configured,
      targets,
      alone: targets.length === 1 && targets[0]!.kind !== "stdio",
      count: makeMcpSeries(yield* Metrics, (yield* CallTimes)("Primary", "Mcp"))
    }
    const compiled: CompiledBackend<McpSlots> = {
      type: "mcp",
      protocol: "mcp",
      target: targets.map(({ name }) => name).join(","),
      keepsTime: true,
      call: (x, passage) =>
        x.request.method === "POST"
          ? Effect.flatMapEager(timed(x, now, x.readRequestBody()), (body) => posted(served, x, passage, now, body))
          : timed(x, now, relayed(served, x, passage, nothing, undefined))
    }
    return compiled
  })

const nothing = new Uint8Array(0)

const timed = <A, E>(x: Exchange, now: () => number, work: Effect.Effect<A, E>): Effect.Effect<A, E | TimedOut> =>
  Exit.isExit(work) ? work : within(x, now, work)

/** Each target has an address of its own. */
const notInQuery = new BackendAuthFailed({ detail: "a query parameter reaches no MCP server" })

type McpAnswer = Exit.Exit<Answer, McpRefused>

/** One backend at work. */
interface Served extends Relaying {
  readonly configured: ConfiguredCallers
  readonly targets: ReadonlyArray<McpTarget>
  /** Whether there is a single target, which is no child of this process. */
  readonly alone: boolean
  readonly count: (passage: Passage, facts: McpFacts) => void
}

/** The relay keeps the time of a call, since it has to cancel it at the target. */
const posted = (
  served: Served,
  x: Exchange,
  passage: Passage,
  now: () => number,
  body: Uint8Array
): Effect.Effect<Answer, BackendAuthFailed | McpRefused | TimedOut | UpstreamTimedOut> => {
  const timeout = timeoutOf(x, passage)
  if (timeout === undefined) return relayed(served, x, passage, body, undefined)
  const millis = timeout.milliseconds - (now() - (passage.called ?? x.arrived))
  if (millis <= 0) return Exit.fail(timeout.failure("nothing sent"))
  return relayed(served, x, passage, body, { millis, message: () => timeout.failure("sent").message })
}

const relayed = (
  { relay, current, configured, targets, alone, count }: Served,
  x: Exchange,
  passage: Passage,
  body: Uint8Array,
  timeLimit: McpTimeLimit | undefined
): Effect.Effect<Answer, BackendAuthFailed | McpRefused> => {
  const own = x.get(slots.shownCredentials)
  if (own?.inQuery === true) return Exit.fail(notInQuery)
  if (own !== undefined) configured.shows(own.lines)
  const rules = x.get(slots.mcpRules)
  const headers = withoutCredentials(x.request.headers.flat, x.get(slots.credentialHeaders), alone, own?.lines)
  const token = configured.handsOver ? x.get(slots.jwt)?.rawToken : undefined
  current.use(configured, x)
  // Recorded at the end of the request: a stream goes on to change them, and a client may leave before any response.
  let facts = noMcpFacts()
  x.onFinish(() => {
    record(x, facts)
    count(passage, facts)
  })
  return Effect.flatMapEager(
    relay.handle({
      method: x.request.method,
      path: x.request.pathAndQuery,
      originalPath: x.receivedPath,
      authority: x.receivedAuthority,
      namedHost: passage.listener?.namesHosts === true || passage.route?.namesHosts === true,
      allowedOrigin: x.answerHeaders.get("access-control-allow-origin") !== undefined,
      loopback: x.peer.loopback,
      headers: token === undefined ? headers : [...headers, clientToken, token],
      body,
      principal: principalOf(x),
      address: x.peer.address,
      listener: passage.listener?.key ?? "",
      authorize: rules === undefined ? undefined : mcpAuthorizer(rules, x, x.request.headers.get("mcp-session-id")),
      observer: observerOf(x, passage, targets),
      timeLimit,
      facts
    }),
    (response) => {
      facts = response.facts
      return answerOf(response, x)
    }
  )
}

/** Who asks: a session serves only the principal that began it. */
const principalOf = (x: Exchange): string => {
  const token = x.get(slots.jwt)
  if (token !== undefined) return JSON.stringify(["jwt", token.claims["iss"], token.claims["sub"]])
  const key = x.get(slots.apiKey)
  return key === undefined ? "" : createHash("sha256").update(key.key).digest("hex")
}

const answerOf = ({ status, headers, body, failure, facts }: McpResponse, x: Exchange): McpAnswer => {
  const list = new HeaderList([...headers])
  if (x.watched) x.set(slots.mcpCall, summaryOf(facts))
  if (typeof body !== "string" && !(body instanceof Uint8Array))
    return Exit.succeed({ status, headers: list, body: new EventStreamBody(body) })
  if (failure === undefined || typeof body !== "string")
    return Exit.succeed({ status, headers: list, body: body.length === 0 ? undefined : body })
  const type = list.get("content-type")
  return Exit.fail(new McpRefused({ status, message: failure, headers, content: { type, body } }))
}

/**
 * What is told of a session: enough to find its lines, too little to be it. Its id begins with a number that was drawn for it.
 */
const told = (sessionId: string | undefined): string | undefined =>
  sessionId === undefined ? undefined : `${sessionId.slice(0, 12)}…`

/** What traces show. */
const summaryOf = ({ method, sessionId, resourceType, target, name }: McpFacts) => ({
  ...(method === undefined ? {} : { methodName: method }),
  ...(sessionId === undefined ? {} : { sessionId: told(sessionId) }),
  ...(resourceType === undefined || target === undefined || name === undefined
    ? {}
    : { [resourceType === "templates" ? "resource" : resourceType]: { target, name } })
})

/** What is known of a request, for its log line. */
const record = (x: Exchange, facts: McpFacts): void => {
  const add = (key: string, value: string | number | undefined) => {
    if (value !== undefined) x.fact(key, value)
  }
  add("mcp.method.name", facts.method)
  add("mcp.target", facts.target)
  add("mcp.resource.type", facts.resourceType)
  add(
    facts.resourceType === "tool"
      ? "gen_ai.tool.name"
      : facts.resourceType === "prompt"
        ? "gen_ai.prompt.name"
        : "mcp.resource.uri",
    facts.name
  )
  add("mcp.session.id", told(facts.sessionId))
  add("mcp.error.code", facts.errorCode)
  add("mcp.error.message", facts.errorMessage)
}
