/** Streamable HTTP, the server's side (MCP base protocol, transports): checks in their order, then to the relay. */
import { makeLedger, noMcpFacts } from "./call-record.ts"
import type { McpRequest, McpResponse } from "./contract.ts"
import { dispatch } from "./dispatch.ts"
import { isRebound, rebindingMessage } from "./dns-rebinding.ts"
import {
  decodeBatch,
  decodeMessage,
  idText,
  isBatch,
  isNotJsonRpc,
  type RpcMessage,
  type RpcRequest
} from "./envelope.ts"
import { codeOf, failureAnswer, type McpFailure, refusal, undecodable, unsupportedVersionText } from "./errors.ts"
import type { Exchange } from "./exchange.ts"
import { forwardedHeaders, header, headerValues } from "./headers.ts"
import type { LegacySseServer } from "./legacy-sse-server.ts"
import { Listening } from "./listening.ts"
import { notifyTargets, replyToTarget } from "./one-way.ts"
import { Reply } from "./reply.ts"
import { routingHeaderFault } from "./routing-headers.ts"
import type { Backend, Caller, Introduction, Session } from "./session.ts"
import type { Sessions } from "./sessions.ts"
import { batchVersion, type Era, eraOf, isModern, latestLegacyVersion } from "./versions.ts"

/** A backend with the sessions of both transports. */
export interface ServerContext {
  readonly backend: Backend
  readonly sessions: Sessions
  readonly legacy: LegacySseServer
}

type Respond = (response: McpResponse) => void
type Cancel = () => void
const nothing: Cancel = () => {}

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true })

const isFailure = (value: Era | McpFailure): value is McpFailure => "_tag" in value

/** Where and for whom a session of this request is valid. */
export const bindingOf = ({ backend }: Backend["config"], { listener, principal, address }: McpRequest): Caller => ({
  backend,
  listener,
  principal,
  address
})

const refuse = (respond: Respond, failure: McpFailure, id?: string): Cancel => {
  const facts = noMcpFacts()
  facts.errorCode = codeOf(failure)
  facts.errorMessage = failure.message
  respond({ ...failureAnswer(failure, id), facts })
  return nothing
}

/** Serves one HTTP request. `respond` is called once; the returned function tells that the client is gone before that. */
export const serve = (context: ServerContext, request: McpRequest, respond: Respond): Cancel => {
  const { config } = context.backend
  if (isRebound(config.dnsRebindingProtection, request)) {
    respond({
      status: 403,
      headers: ["content-type", "text/plain"],
      body: rebindingMessage,
      failure: rebindingMessage,
      facts: noMcpFacts()
    })
    return nothing
  }
  if (request.path !== undefined && /^\/sse(?:\?|$)/.test(request.path))
    return context.legacy.serve(request, bindingOf(config, request), respond)
  switch (request.method) {
    case "POST":
      return post(context, request, respond)
    case "GET":
      return config.statefulMode === "stateless"
        ? refuse(respond, refusal.statelessMethodNotAllowed)
        : get(context, request, respond)
    case "DELETE":
      return config.statefulMode === "stateless"
        ? refuse(respond, refusal.statelessMethodNotAllowed)
        : remove(context, request, respond)
    default:
      return refuse(
        respond,
        config.statefulMode === "stateless" ? refusal.statelessMethodNotAllowed : refusal.methodNotAllowed
      )
  }
}

const post = (context: ServerContext, request: McpRequest, respond: Respond): Cancel => {
  const { config } = context.backend
  const accept = headerValues(request.headers, "accept")
  if (!accept.includes("application/json") || !accept.includes("text/event-stream"))
    return refuse(respond, refusal.acceptBoth)
  if (header(request.headers, "content-type")?.toLowerCase().startsWith("application/json") !== true)
    return refuse(respond, refusal.sendJson)
  if (request.body.length > config.limits.bodyBytes)
    return refuse(respond, undecodable(`more than ${config.limits.bodyBytes} bytes`))
  let text: string
  try {
    text = utf8.decode(request.body)
  } catch {
    return refuse(respond, undecodable("not UTF-8"))
  }
  if (isBatch(text)) return postBatch(context, request, text, respond)
  const message = decodeMessage(text)
  if (isNotJsonRpc(message)) return refuse(respond, undecodable(message.message))
  const id = message.kind === "request" ? idText(message) : undefined
  const era = eraOf(header(request.headers, "mcp-protocol-version"), message)
  if (isFailure(era)) return refuse(respond, era, id)
  if (message.kind === "request" || message.kind === "notification") {
    const fault = routingHeaderFault(request.headers, message, era.modern)
    if (fault !== undefined) return refuse(respond, fault, id)
  }
  return single(context, request, message, era, respond)
}

/** Finds the session of a message and hands it over. */
const single = (
  context: ServerContext,
  request: McpRequest,
  message: RpcMessage,
  era: Era,
  respond: Respond
): Cancel => {
  const { backend, sessions } = context
  const sessionId = header(request.headers, "mcp-session-id")
  if (era.modern) {
    if (sessionId !== undefined) return refuse(respond, refusal.invalidSessionHeader)
    return alone(context, request, [message], era, respond)
  }
  if (backend.config.statefulMode === "stateless") return alone(context, request, [message], era, respond)
  const begins = message.kind === "request" && message.method === "initialize"
  if (sessionId === undefined) {
    if (!begins) return refuse(respond, refusal.sessionRequired)
    const session = sessions.fresh(bindingOf(backend.config, request))
    if ("_tag" in session) return refuse(respond, session, idText(message))
    return hand(context, request, session, [message], era, respond, () => {
      if (session.id === "") session.end(forwardedHeaders(request.headers))
    })
  }
  const session = sessions.find(sessionId, bindingOf(backend.config, request))
  if (session === undefined) return refuse(respond, refusal.sessionNotFound)
  return hand(context, request, session, [message], era, respond, nothing)
}

/** A batch: only clients of 2025-03-26 know it, and never for the handshake. */
const postBatch = (context: ServerContext, request: McpRequest, text: string, respond: Respond): Cancel => {
  const { backend, sessions } = context
  const decoded = decodeBatch(text, backend.config.limits.batchMessages)
  if (isNotJsonRpc(decoded)) return refuse(respond, undecodable(decoded.message))
  const messages: Array<RpcMessage> = []
  for (const message of decoded) {
    if (isNotJsonRpc(message)) return refuse(respond, undecodable(message.message))
    if (message.kind === "request" && message.method === "initialize")
      return refuse(respond, undecodable("initialize cannot be part of a batch"))
    messages.push(message)
  }
  const sessionId = header(request.headers, "mcp-session-id")
  const stateless = backend.config.statefulMode === "stateless"
  if (!stateless && sessionId === undefined) return refuse(respond, refusal.sessionRequired)
  const session = stateless ? undefined : sessions.find(sessionId!, bindingOf(backend.config, request))
  if (!stateless && session === undefined) return refuse(respond, refusal.sessionNotFound)
  const version = header(request.headers, "mcp-protocol-version") ?? session?.version ?? batchVersion
  if (version !== batchVersion) return refuse(respond, undecodable(`batches are part of ${batchVersion} only`))
  const era: Era = { modern: false, version }
  return session === undefined
    ? alone(context, request, messages, era, respond)
    : hand(context, request, session, messages, era, respond, nothing)
}

/** Serves messages without a session: the connections to the targets live as long as the reply. */
const alone = (
  context: ServerContext,
  request: McpRequest,
  messages: ReadonlyArray<RpcMessage>,
  era: Era,
  respond: Respond
): Cancel => {
  const { backend, sessions } = context
  const headers = forwardedHeaders(request.headers)
  const handshake = messages.some((message) => message.kind === "request" && message.method === "initialize")
  const introduction: Introduction | undefined =
    era.modern || handshake
      ? undefined
      : {
          version: header(request.headers, "mcp-protocol-version") ?? latestLegacyVersion,
          headers,
          ledger: makeLedger(noMcpFacts(), request.observer, backend.clock)
        }
  const session = sessions.single(era.modern ? "modern" : "stateless", bindingOf(backend.config, request), introduction)
  return hand(context, request, session, messages, era, respond, () => session.end(headers))
}

/** Hands the messages of one POST to a session. `over` runs when the exchange is over. */
const hand = (
  context: ServerContext,
  request: McpRequest,
  session: Session,
  messages: ReadonlyArray<RpcMessage>,
  era: Era,
  respond: Respond,
  over: () => void
): Cancel => {
  const { backend } = context
  const { config, clock, pulse } = backend
  const facts = request.facts ?? noMcpFacts()
  const requests = messages.filter((message) => message.kind === "request")
  const host = {
    pulse,
    clock,
    keepAliveMillis: config.keepAliveMillis,
    queuedChars: config.limits.queuedChars
  }
  const reply = new Reply(host, facts, requests.length, respond)
  reply.onOver = over
  const headers = forwardedHeaders(request.headers)
  const { timeLimit } = request
  if (timeLimit !== undefined)
    reply.limit(timeLimit, () => {
      session.expire()
      if (session.kind === "session") return
      // A handshake of ours may still be unanswered.
      session.end(headers, { _tag: "TargetTimeout", status: 504, message: timeLimit.message() })
    })
  const ledger = makeLedger(facts, request.observer, clock)
  if (session.kind === "session") facts.sessionId = session.id === "" ? undefined : session.id
  const [first] = messages
  if (first?.kind === "request" || first?.kind === "notification") facts.method = first.method
  let open = messages.length - requests.length
  let problem: McpFailure | undefined
  const taken = (failure: McpFailure | undefined) => {
    problem ??= failure
    if (--open > 0 || requests.length > 0) return
    if (problem === undefined) reply.accepted()
    else reply.fail(problem, undefined)
  }
  for (const message of messages) {
    switch (message.kind) {
      case "request":
        dispatch(exchangeOf(context, request, session, era, headers, ledger, reply, message))
        break
      case "notification":
        notifyTargets({ backend, session, headers, ledger, reply }, message, taken)
        break
      default:
        replyToTarget({ backend, session, headers, ledger, reply }, message, taken)
    }
  }
  return () => reply.cancel()
}

const exchangeOf = (
  { backend }: ServerContext,
  request: McpRequest,
  session: Session,
  era: Era,
  headers: ReadonlyArray<string>,
  ledger: Exchange["ledger"],
  reply: Reply,
  message: RpcRequest
): Exchange => ({
  backend,
  session,
  headers,
  modern: era.modern,
  routingHeaders: header(request.headers, "mcp-method") !== undefined,
  authorize: request.authorize,
  ledger,
  reply,
  message,
  params: message.params?.members
})

/** The checks that GET and DELETE share. */
const boundSession = (context: ServerContext, request: McpRequest): Session | McpFailure => {
  const { backend, sessions } = context
  const version = header(request.headers, "mcp-protocol-version")
  if (version !== undefined && isModern(version)) return unsupportedVersionText(version)
  const id = header(request.headers, "mcp-session-id")
  if (id === undefined) return refusal.sessionIdRequired
  return sessions.find(id, bindingOf(backend.config, request)) ?? refusal.sessionNotFound
}

const get = (context: ServerContext, request: McpRequest, respond: Respond): Cancel => {
  const { backend } = context
  const version = header(request.headers, "mcp-protocol-version")
  const accepts = headerValues(request.headers, "accept").includes("text/event-stream")
  if (!isModern(version) && !accepts) return refuse(respond, refusal.acceptStream)
  const session = boundSession(context, request)
  if ("_tag" in session) return refuse(respond, session)
  const facts = request.facts ?? noMcpFacts()
  facts.sessionId = session.id
  const listening = new Listening({
    backend,
    session,
    headers: forwardedHeaders(request.headers),
    lastEventId: header(request.headers, "last-event-id"),
    ledger: makeLedger(facts, request.observer, backend.clock),
    facts,
    respond
  })
  return () => listening.close()
}

/** Ending a session always succeeds: whatever the id was, it is worth nothing afterwards. */
const remove = (context: ServerContext, request: McpRequest, respond: Respond): Cancel => {
  const session = boundSession(context, request)
  if ("_tag" in session && session !== refusal.sessionNotFound) return refuse(respond, session)
  const facts = noMcpFacts()
  if (!("_tag" in session)) {
    facts.sessionId = session.id
    const ledger = makeLedger(facts, request.observer, context.backend.clock)
    // Asking for the links opens those of a resumed session, whose targets have to hear of the end as well.
    for (const link of session.links()) ledger.begin(link.target.name, "DELETE", undefined).end(undefined)
    context.sessions.forget(session)
    session.end(forwardedHeaders(request.headers))
  }
  respond({ status: 202, headers: [], body: "", facts })
  return nothing
}
