/**
 * HTTP with SSE as of 2024-11-05, the server's side: a GET opens the stream and names the endpoint to post to; answers
 * come on the stream. The session is the stream: it lives in this process, and as long as the client reads.
 */
import { randomUUID } from "node:crypto"
import type { McpEventMark } from "../../services/mcp-transport.ts"
import { makeLedger, noMcpFacts } from "./call-record.ts"
import type { McpFacts, McpRequest, McpResponse } from "./contract.ts"
import type { Crowd } from "./crowd.ts"
import { dispatch } from "./dispatch.ts"
import { decodeMessage, idText, isNotJsonRpc, type RpcRequest } from "./envelope.ts"
import {
  begunAlready,
  codeOf,
  failureAnswer,
  failureMessage,
  type McpFailure,
  refusal,
  tooManySessions,
  undecodable
} from "./errors.ts"
import { EventStream } from "./event-stream.ts"
import { forwardedHeaders } from "./headers.ts"
import { notifyTargets, replyToTarget } from "./one-way.ts"
import type { Beating } from "./pulse.ts"
import { eventStreamHeaders, type RequestReply } from "./reply.ts"
import type { Backend, Caller, ListeningStream, Session } from "./session.ts"
import type { SessionBinding } from "./session-id.ts"
import { event, keepAlive } from "./sse.ts"
import { eraOf } from "./versions.ts"

type Respond = (response: McpResponse) => void

const utf8 = new TextDecoder("utf-8", { ignoreBOM: true })

/** The stream of one client, and its session. */
class Conversation implements ListeningStream, Beating {
  readonly session: Session
  readonly stream: EventStream
  /** A handshake is not answered yet. */
  greeting = false
  readonly #backend: Backend

  constructor(backend: Backend, session: Session, onClose: () => void) {
    this.#backend = backend
    this.session = session
    this.stream = new EventStream(backend.clock.now(), backend.config.limits.queuedChars, onClose)
  }

  /** Begins a handshake, which lasts until its reply. */
  greet(reply: RequestReply): RequestReply {
    this.greeting = true
    const over = () => {
      this.greeting = false
    }
    return {
      ...reply,
      answer: (text, mark) => {
        over()
        reply.answer(text, mark)
      },
      fail: (failure, id) => {
        over()
        reply.fail(failure, id)
      },
      drop: () => {
        over()
        reply.drop()
      }
    }
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

/** Path, and query where there is one: it may hold question marks itself. */
const splitPath = (path: string): readonly [path: string, query: string] => {
  const mark = path.indexOf("?")
  return mark < 0 ? [path, ""] : [path.slice(0, mark), path.slice(mark + 1)]
}

/** The session that a path names; `undefined` for none, and for several. */
const sessionNamed = (path: string): string | undefined => {
  const [id, ...others] = new Set(new URLSearchParams(splitPath(path)[1]).getAll("sessionId"))
  return others.length > 0 || id === "" ? undefined : id
}

/** Why a request has to wait its turn: nothing comes before the handshake, and no handshake beside another. */
const outOfTurn = ({ greeting, session }: Conversation, { method }: RpcRequest): McpFailure | undefined => {
  if (method === "initialize") return greeting ? begunAlready : undefined
  return session.id === "" ? refusal.sessionRequired : undefined
}

/** All open conversations of a backend. */
export class LegacySseServer {
  readonly #backend: Backend
  readonly #crowd: Crowd
  readonly #open: (binding: Caller) => Session
  readonly #conversations = new Map<string, Conversation>()

  /** `open` begins a session that is not kept anywhere else. */
  constructor(backend: Backend, crowd: Crowd, open: (binding: Caller) => Session) {
    this.#backend = backend
    this.#crowd = crowd
    this.#open = open
  }

  get size(): number {
    return this.#conversations.size
  }

  serve(request: McpRequest, binding: Caller, respond: Respond): () => void {
    const facts = noMcpFacts()
    const refuse = (failure: McpFailure) => {
      facts.errorCode = codeOf(failure)
      facts.errorMessage = failure.message
      respond({ ...failureAnswer(failure, undefined), facts })
      return () => {}
    }
    if (request.method === "GET") return this.#begin(request, binding, facts, respond, refuse)
    if (request.method !== "POST") return refuse(refusal.sseMethodNotAllowed)
    const id = sessionNamed(request.path ?? "")
    if (id === undefined) return refuse(refusal.noSessionQuery)
    const conversation = this.#conversations.get(id)
    if (conversation === undefined || !isFor(conversation, binding)) return refuse(refusal.sessionNotFound)
    return this.#post(conversation, request, facts, respond, refuse)
  }

  close(): void {
    for (const { session } of [...this.#conversations.values()]) session.end(undefined)
  }

  #begin(
    request: McpRequest,
    binding: Caller,
    facts: McpFacts,
    respond: Respond,
    refuse: (failure: McpFailure) => () => void
  ): () => void {
    const { config, pulse, clock } = this.#backend
    const { limits } = config
    if (this.#conversations.size >= limits.sessions) return refuse(tooManySessions.ofBackend(limits.sessions))
    const session = this.#open(binding)
    const leave = this.#crowd.enter(binding, session, clock.now())
    if (leave === undefined) return refuse(tooManySessions.ofAddress(limits.sessionsPerAddress))
    const id = randomUUID()
    const headers = forwardedHeaders(request.headers)
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
      leave()
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
    // A request is told on the stream. Nobody would hear of other messages, and they would start the targets.
    if (message.kind !== "request" && session.id === "" && !conversation.greeting)
      return refuse(refusal.sessionRequired)
    const backend = this.#backend
    const ledger = makeLedger(facts, request.observer, backend.clock)
    const reply = replyOn(conversation, facts)
    const headers = forwardedHeaders(request.headers)
    respond({ status: 202, headers: [], body: "", facts })
    switch (message.kind) {
      case "request": {
        const early = outOfTurn(conversation, message)
        if (early !== undefined) reply.fail(early, idText(message))
        else {
          const { authorize } = request
          const params = message.params?.members
          dispatch({
            backend,
            session,
            headers,
            modern: false,
            routingHeaders: false,
            authorize,
            ledger,
            reply: message.method === "initialize" ? conversation.greet(reply) : reply,
            message,
            params
          })
        }
        break
      }
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

/**
 * The client's own path, with this session and no other: a client that was made to ask for a path with somebody's
 * session would post there. The path survives rewrites on the way here.
 */
const endpointOf = ({ originalPath, path }: McpRequest, id: string): string => {
  const [own, query] = splitPath(originalPath ?? path ?? "/sse")
  const kept = query.split("&").filter((pair) => !new URLSearchParams(pair).has("sessionId"))
  return `${own}?${[...(query === "" ? [] : kept), `sessionId=${id}`].join("&")}`
}
