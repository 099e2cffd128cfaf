/**
 * mcp: serves MCP servers as one. Requests go to the relay, which holds the sessions; what it knows of a request goes to
 * the log.
 */
import { createHash } from "node:crypto"
import { Effect } from "effect"
import type { BodyAborted } from "../../src/http/body.ts"
import { HeaderList } from "../../src/http/header-list.ts"
import type { Answer } from "../../src/http/message.ts"
import type { BodyTooLarge } from "../../src/pipeline/errors.ts"
import type { Exchange } from "../../src/pipeline/exchange.ts"
import { mcpAuthorizer } from "../../src/pipeline/mcp-rules.ts"
import * as slots from "../../src/pipeline/slots.ts"
import type { ConfigProblem } from "../../src/pipeline/stage.ts"
import { terminal } from "../../src/pipeline/terminal.ts"
import { type McpTarget, mcpBackendConfig } from "../../src/protocols/mcp/config.ts"
import type { McpFacts, McpRelay, McpResponse } from "../../src/protocols/mcp/contract.ts"
import { McpFamily } from "../../src/protocols/mcp/family.ts"
import { McpProcess } from "../../src/protocols/mcp/process.ts"
import { makeMcpRelay } from "../../src/protocols/mcp/relay.ts"
import { Kept, KeptKind } from "../../src/services/kept.ts"
import { Log } from "../../src/services/log.ts"
import { EventStreamBody } from "./event-stream-body.ts"
import { McpBackend } from "./schema.ts"
import { targetOf } from "./targets.ts"

const relays = new KeptKind<McpRelay>("mcp relay")

export const backendMcp = terminal({
  name: "mcp",
  schema: McpBackend,
  maturity: { status: "stable", untrusted: "client+backend" },
  compile: (config, at, name) =>
    Effect.gen(function* () {
      const targets: Array<McpTarget> = []
      const problems: Array<ConfigProblem> = []
      for (const [index, target] of config.targets.entries()) {
        const found = targetOf(target, [...at, "targets", index])
        if ("message" in found) problems.push(found)
        else targets.push(found)
      }
      if (problems.length > 0) return yield* Effect.fail(problems)
      const { log } = yield* Log
      const { owner, product, clock } = yield* McpProcess
      const { sessionIds, sessionTtl, identify } = yield* McpFamily
      const { statefulMode, prefixMode, failureMode, dnsRebindingProtection } = config
      const content = { targets, statefulMode, prefixMode, failureMode, dnsRebindingProtection }
      const backend = identify(JSON.stringify(content))
      const relay = yield* (yield* Kept).keep(
        relays,
        `${backend} ${sessionTtl}`,
        makeMcpRelay(mcpBackendConfig({ ...content, backend, name, sessionTtlMillis: sessionTtl }), {
          sessionIds,
          owner,
          product,
          clock,
          warn: ({ target, message }) => log("warn", "mcp", message, { backend: name, target })
        })
      )
      return {
        type: "mcp",
        protocol: "mcp",
        target: targets.map(({ name }) => name).join(","),
        call: (x) =>
          x.request.method === "POST"
            ? Effect.flatMapEager(x.readRequestBody(), (body) => relayed(relay, x, body))
            : relayed(relay, x, nothing)
      }
    })
})

const nothing = new Uint8Array(0)

const relayed = (relay: McpRelay, x: Exchange, body: Uint8Array): Effect.Effect<Answer, BodyTooLarge | BodyAborted> => {
  const rules = x.get(slots.mcpRules)
  return Effect.mapEager(
    relay.handle({
      method: x.request.method,
      path: x.request.pathAndQuery,
      originalPath: x.receivedPath,
      authority: x.request.authority,
      headers: x.request.headers.flat,
      body,
      principal: principalOf(x),
      listener: x.listener?.key ?? "",
      authorize: rules === undefined ? undefined : mcpAuthorizer(rules, x, x.request.headers.get("mcp-session-id"))
    }),
    (response) => answerOf(response, x)
  )
}

/** Who asks: a session serves only the principal that began it. */
const principalOf = (x: Exchange): string => {
  const token = x.get(slots.jwt)
  if (token !== undefined) return JSON.stringify(["jwt", token.claims["iss"], token.claims["sub"]])
  const key = x.get(slots.apiKey)
  return key === undefined ? "" : createHash("sha256").update(key.key).digest("hex")
}

const answerOf = ({ status, headers, body, facts }: McpResponse, x: Exchange): Answer => {
  const list = new HeaderList([...headers])
  if (typeof body === "string" || body instanceof Uint8Array) {
    record(x, facts)
    return { status, headers: list, body: body.length === 0 ? undefined : body }
  }
  return { status, headers: list, body: new EventStreamBody(body, () => record(x, facts)) }
}

/** The facts are final when the body is: then they go to the log line of the request. */
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
  add("mcp.session.id", facts.sessionId)
  add("mcp.error.code", facts.errorCode)
  add("mcp.error.message", facts.errorMessage)
}
