/**
 * HTTP with SSE as of 2024-11-05, the server's side: a GET opens the stream and names the endpoint to post to; answers
 * come on the stream. The session is the stream: it lives in this process, and as long as the client reads.
 */
import { randomUUID } from "node:crypto"
import type { McpEventMark } from "../../services/mcp-transport.ts"
import { makeLedger, noFacts } from "./call-record.ts"
import type { McpFacts, McpRequest, McpResponse } from "./contract.ts"
import { dispatch } from "./dispatch.ts"
import { decodeMessage, idText, isNotJsonRpc, paramsOf } from "./envelope.ts"
import { codeOf, failureAnswer, failureMessage, type McpFailure, refusal, undecodable } from "./errors.ts"
import { EventStream } from "./event-stream.ts"
import { forwardedHeaders } from "./headers.ts"
import { notifyTargets, replyToTarget } from "./one-way.ts"
import type { Beating } from "./pulse.ts"
import { eventStreamHeaders, type RequestReply } from "./reply.ts"
import type { Backend, ListeningStream, Session } from "./session.ts"
import type { SessionBinding } from "./session-id.ts"
import { event, keepAlive } from "./sse.ts"
import { eraOf } from "./versions.ts"

type Respond = (response: McpResponse) => void

const utf8 = new TextDecoder("utf-8", { ignoreBOM: true })

/** The stream of one client, and its session. */
class Conversation implements ListeningStream, Beating {
  readonly session: Session
  readonly stream: EventStream
  readonly #backend: Backend

  constructor(backend: Backend, session: Session, onClose: () => void) {
    this.#backend = backend
    this.session = session
    this.stream = new EventStream(backend.clock.now(), backend.config.limits.queuedChars, onClose)
  }

  message(text: string, mark: McpEventMark | undefined): boolean {
    return text === "" || this.stream.push(event(text, mark), this.#backend.clock.now())
  }

  whenDrained(resume: () => void): void {
    this.stream.whenDrained(resume)
  }

  gone(): boolean {
    return this.stream.closed
  }

  close(): void {
    this.stream.end()
  }

  beat(now: number): void {
    if (now - this.stream.writtenAt >= this.#backend.config.keepAliveMillis) this.stream.push(keepAlive, now)
  }
}

/** Everything that comes of a request goes to the stream; there is no resumption in this transport. */
const replyOn = (conversation: Conversation, facts: McpFacts): RequestReply => ({
  facts,
  headers: [],
  headWaits: false,
  message: (text) => conversation.message(text, undefined),
  whenDrained: (resume) => conversation.whenDrained(resume),
  gone: () => conversation.gone(),
  late: () => undefined,
  answer: (text) => {
    conversation.message(text, undefined)
  },
  fail: (failure, id) => {
    facts.errorCode ??= codeOf(failure)
    facts.errorMessage ??= failure.message
    conversation.message(failureMessage(failure, id ?? "null"), undefined)
  },
  drop: () => {}
})

const queryOf = (path: string) => new URLSearchParams(path.split("?")[1] ?? "")

/** All open conversations of a backend. */
export class LegacySseServer {
  readonly #backend: Backend
  readonly #open: (binding: SessionBinding) => Session
  readonly #conversations = new Map<string, Conversation>()

  /** `open` begins a session that is not kept anywhere else. */
  constructor(backend: Backend, open: (binding: SessionBinding) => Session) {
    this.#backend = backend
    this.#open = open
  }

  get size(): number {
    return this.#conversations.size
  }

  serve(request: McpRequest, binding: SessionBinding, respond: Respond): () => void {
    const facts = noFacts()
    const refuse = (failure: McpFailure) => {
      facts.errorCode = codeOf(failure)
      facts.errorMessage = failure.message
      respond({ ...failureAnswer(failure, undefined), facts })
      return () => {}
    }
    if (request.method === "GET") return this.#begin(request, binding, facts, respond, refuse)
    if (request.method !== "POST") return refuse(refusal.sseMethodNotAllowed)
    const id = queryOf(request.path ?? "").get("sessionId")
    if (id === null || id === "") return refuse(refusal.noSessionQuery)
    const conversation = this.#conversations.get(id)
    if (conversation === undefined || !isFor(conversation, binding)) return refuse(refusal.sessionNotFound)
    return this.#post(conversation, request, facts, respond, refuse)
  }

  close(): void {
    for (const { session } of [...this.#conversations.values()]) session.end(undefined)
  }

  #begin(
    request: McpRequest,
    binding: SessionBinding,
    facts: McpFacts,
    respond: Respond,
    refuse: (failure: McpFailure) => () => void
  ): () => void {
    const { config, pulse, clock } = this.#backend
    if (this.#conversations.size >= config.limits.sessions) return refuse(refusal.tooManySessions)
    const id = randomUUID()
    const headers = forwardedHeaders(request.headers)
    const session = this.#open(binding)
    const conversation = new Conversation(this.#backend, session, () => session.end(headers))
    const { stream } = conversation
    this.#conversations.set(id, conversation)
    if (config.keepAliveMillis > 0) pulse.add(conversation)
    session.attach(conversation)
    session.listen(conversation)
    session.onBegun = () => {
      session.id = id
      // What the targets say outside of requests has to be asked for; a target need not have such a stream.
      for (const link of session.links())
        if (!link.shared)
          link.listen(headers, undefined, { ...listener(conversation), opened: () => {}, ended: () => {} })
    }
    session.onEnded = () => {
      this.#conversations.delete(id)
      pulse.delete(conversation)
      stream.end()
    }
    facts.sessionId = id
    stream.push(`event: endpoint\ndata: ${endpointOf(request, id)}\n\n`, clock.now())
    respond({ status: 200, headers: eventStreamHeaders, body: stream, facts })
    return () => stream.cancel()
  }

  #post(
    conversation: Conversation,
    request: McpRequest,
    facts: McpFacts,
    respond: Respond,
    refuse: (failure: McpFailure) => () => void
  ): () => void {
    const { limits } = this.#backend.config
    const { session } = conversation
    if (request.body.length > limits.bodyBytes) return refuse(undecodable(`more than ${limits.bodyBytes} bytes`))
    const message = decodeMessage(utf8.decode(request.body))
    if (isNotJsonRpc(message)) return refuse(undecodable(message.message))
    const era = eraOf(undefined, message)
    if ("_tag" in era) return refuse(era)
    facts.sessionId = session.id === "" ? undefined : session.id
    if (message.kind === "request" || message.kind === "notification") facts.method = message.method
    const backend = this.#backend
    const ledger = makeLedger(facts, request.observer, backend.clock)
    const reply = replyOn(conversation, facts)
    const headers = forwardedHeaders(request.headers)
    respond({ status: 202, headers: [], body: "", facts })
    switch (message.kind) {
      case "request":
        if (session.id === "" && message.method !== "initialize") reply.fail(refusal.sessionRequired, idText(message))
        else {
          const { authorize } = request
          const params = paramsOf(message)
          dispatch({
            backend,
            session,
            headers,
            modern: false,
            routingHeaders: false,
            authorize,
            ledger,
            reply,
            message,
            params
          })
        }
        break
      case "notification":
        notifyTargets({ backend, session, headers, ledger, reply }, message, () => {})
        break
      default:
        replyToTarget({ backend, session, headers, ledger, reply }, message, () => {})
    }
    return () => {}
  }
}

const listener = (conversation: Conversation) => ({
  message: (text: string) => conversation.message(text, undefined),
  whenDrained: (resume: () => void) => conversation.whenDrained(resume),
  gone: () => conversation.gone()
})

const isFor = ({ session }: Conversation, binding: SessionBinding): boolean =>
  session.binding.principal === binding.principal && session.binding.listener === binding.listener

/** The client's own path, with the session: it survives rewrites on the way here. */
const endpointOf = ({ originalPath, path }: McpRequest, id: string): string => {
  const own = originalPath ?? path ?? "/sse"
  return `${own}${own.includes("?") ? "&" : "?"}sessionId=${id}`
}
