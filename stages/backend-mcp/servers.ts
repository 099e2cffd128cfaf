/** An `mcp` backend at work: requests go to the relay, which holds the sessions; what it knows of a request goes to the log. */
import { createHash } from "node:crypto"
import { Effect, Exit, Result } from "effect"
import {
  type Answer,
  type ConfigPath,
  type ConfigProblem,
  HeaderList,
  Monotonic,
  slots,
  type TimedOut
} from "../../src/policy/policy.ts"
import {
  CallTimes,
  type CompiledBackend,
  Kept,
  KeptKind,
  keyedDigest,
  Log,
  type McpHttpAddress,
  Metrics,
  mcpAuthorizer,
  type Passage,
  timeoutOf,
  type UpstreamOptions,
  type UpstreamTimedOut,
  within
} from "../../src/policy/terminal.ts"
import { noFacts } from "../../src/protocols/mcp/call-record.ts"
import { defaultLimits, type McpTarget, mcpBackendConfig } from "../../src/protocols/mcp/config.ts"
import type { McpFacts, McpRelay, McpResponse, McpTimeLimit } from "../../src/protocols/mcp/contract.ts"
import { McpFamily } from "../../src/protocols/mcp/family.ts"
import { McpProcess } from "../../src/protocols/mcp/process.ts"
import { makeMcpRelay } from "../../src/protocols/mcp/relay.ts"
import { withoutCredentials } from "./credentials.ts"
import { EventStreamBody } from "./event-stream-body.ts"
import type { Exchange, McpSlots } from "./exchange.ts"
import { McpRefused } from "./refused.ts"
import type { McpBackend } from "./schema.ts"
import { makeMcpSeries } from "./series.ts"
import { targetOf } from "./targets.ts"
import { observerOf } from "./watched.ts"

const relays = new KeptKind<McpRelay>("mcp relay")

export const compileServers = (
  config: (typeof McpBackend)["Type"],
  at: ConfigPath,
  name: string,
  { maxConnections: _, ...connections }: UpstreamOptions
) =>
  Effect.gen(function* () {
    const targets: Array<McpTarget> = []
    const problems: Array<ConfigProblem> = []
    for (const [index, target] of config.targets.entries()) {
      const found = yield* Effect.result(targetOf(target, [...at, "targets", index]))
      if (Result.isSuccess(found)) targets.push(found.success)
      else problems.push(found.failure)
    }
    if (problems.length > 0) return yield* Effect.fail(problems)
    const { log } = yield* Log
    const now = yield* Monotonic
    const { owner, product, clock } = yield* McpProcess
    const { sessionIds, sessionTtl, identify } = yield* McpFamily
    const { statefulMode, prefixMode, failureMode, dnsRebindingProtection } = config
    const content = { targets, statefulMode, prefixMode, failureMode, dnsRebindingProtection }
    const { maxSessions: sessions, maxSessionsPerAddress: sessionsPerAddress, maxChildren: children } = config
    const limits = { ...defaultLimits, sessions, sessionsPerAddress, children }
    // Bounds are no part of what a backend is: its sessions outlive a change of them where their ids alone bring them back.
    const backend = identify(JSON.stringify(content))
    const connected = { ...content, targets: targets.map((target) => connectedBy(target, connections)) }
    const relay = yield* (yield* Kept).keep(
      relays,
      `${backend} ${sessionTtl} ${sessions} ${sessionsPerAddress} ${children} ${keyedDigest(connections)}`,
      makeMcpRelay(mcpBackendConfig({ ...connected, backend, name, limits, sessionTtlMillis: sessionTtl }), {
        sessionIds,
        owner,
        product,
        clock,
        warn: ({ target, message }) => log("warn", "mcp", message, { backend: name, target })
      })
    )
    const served: Served = {
      relay,
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

/** How a target is reached is no part of what a backend is, either. */
const connectedBy = (target: McpTarget, connections: McpHttpAddress["connections"]): McpTarget => {
  switch (target.kind) {
    case "stdio":
      return target
    case "http":
      return { ...target, endpoint: { ...target.endpoint, connections } }
    case "openapi":
      return { ...target, address: { ...target.address, connections } }
  }
}

const nothing = new Uint8Array(0)

const timed = <A, E>(x: Exchange, now: () => number, work: Effect.Effect<A, E>): Effect.Effect<A, E | TimedOut> =>
  Exit.isExit(work) ? work : within(x, now, work)

type McpAnswer = Exit.Exit<Answer, McpRefused>

/** One backend at work. */
interface Served {
  readonly relay: McpRelay
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
): Effect.Effect<Answer, McpRefused | TimedOut | UpstreamTimedOut> => {
  const timeout = timeoutOf(x, passage)
  if (timeout === undefined) return relayed(served, x, passage, body, undefined)
  const millis = timeout.milliseconds - (now() - (passage.called ?? x.arrived))
  if (millis <= 0) return Exit.fail(timeout.failure("nothing sent"))
  return relayed(served, x, passage, body, { millis, message: () => timeout.failure("sent").message })
}

const relayed = (
  { relay, targets, alone, count }: Served,
  x: Exchange,
  passage: Passage,
  body: Uint8Array,
  timeLimit: McpTimeLimit | undefined
) => {
  const rules = x.get(slots.mcpRules)
  // Those of a stream are final when it is over; and a client may not wait for any response.
  let facts = noFacts()
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
      headers: withoutCredentials(x.request.headers.flat, x.get(slots.credentialHeaders), alone),
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
