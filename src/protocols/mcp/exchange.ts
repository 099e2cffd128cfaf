/** One client request on its way through the relay, and the two ways to send it: to one target, or to several. */

import type { Member } from "../../json/text.ts"
import type { McpEventMark } from "../../services/mcp-transport.ts"
import type { Call, CallOutlet } from "./call.ts"
import type { Ledger } from "./call-record.ts"
import type { McpAuthorize } from "./contract.ts"
import {
  errorOf,
  idText,
  progressTokenOf,
  type RpcError,
  type RpcRequest,
  type RpcResponse,
  resultMessage
} from "./envelope.ts"
import { code, type McpFailure, noUpstreams, rpcRefusal } from "./errors.ts"
import { type Answered, fanOut, type Outcome } from "./fan-out.ts"
import type { RequestReply } from "./reply.ts"
import { withRoutingHeaders } from "./routing-headers.ts"
import type { Backend, Session } from "./session.ts"
import type { TargetLink } from "./target-link.ts"

/** A request with its session, its reply and what it may. */
export interface Exchange {
  readonly backend: Backend
  readonly session: Session
  /** The client's headers, as far as they go on to a target. */
  readonly headers: ReadonlyArray<string>
  readonly modern: boolean
  /** The client repeats method and name in headers; so do we. */
  readonly routingHeaders: boolean
  readonly authorize: McpAuthorize | undefined
  readonly ledger: Ledger
  readonly reply: RequestReply
  readonly message: RpcRequest
  readonly params: ReadonlyArray<Member> | undefined
}

/** Answers the request with a failure. */
export const fail = (exchange: Exchange, failure: McpFailure) => {
  exchange.reply.fail(failure, idText(exchange.message))
}

/** The parameters lack what the method needs. Clients with a session take any status but 200 for a broken transport. */
export const badParams = (modern: boolean): McpFailure =>
  rpcRefusal(modern ? 400 : 200, code.invalidParams, "invalid params for method")

/** Notes an error answer of a target for the access log. */
export const noteError = (exchange: Exchange, answer: RpcError) => {
  const { facts } = exchange.reply
  const error = errorOf(answer)
  facts.errorCode = error.code
  facts.errorMessage = error.message
}

/** Event ids of several targets meet on one stream; the client returns one of them to resume. */
export const prefixedEventId = (target: string, id: string): string => `${target}:${id}`

/** The client's request for one target. */
export const callTo = (
  exchange: Exchange,
  name: string | undefined,
  text: string,
  resumable: boolean,
  transform: Call["transform"],
  out: CallOutlet
): Call => ({
  id: exchange.message.id,
  idText: idText(exchange.message),
  text,
  method: exchange.message.method,
  name,
  token: progressTokenOf(exchange.message, exchange.params)?.token,
  headers: exchange.routingHeaders
    ? withRoutingHeaders(exchange.headers, exchange.message.method, name)
    : exchange.headers,
  ledger: exchange.ledger,
  resumable,
  transform,
  out
})

/**
 * Sends to one target, whose answer is the reply. `name` is the item at the target, `transform` makes the client's form
 * of a result, `succeeded` runs before it is handed over.
 */
export const send = (
  exchange: Exchange,
  link: TargetLink,
  name: string | undefined,
  text: string,
  transform: Call["transform"],
  succeeded: (answer: RpcResponse) => void = () => {}
) => {
  const { session, reply, message } = exchange
  const id = idText(message)
  reply.facts.target ??= link.target.name
  const marked = (mark: McpEventMark | undefined): McpEventMark | undefined =>
    mark?.id === undefined || !session.naming.multiplexing
      ? mark
      : { id: prefixedEventId(link.target.name, mark.id), retry: mark.retry }
  link.call(
    callTo(exchange, name, text, true, transform, {
      message: (text, mark) => reply.message(text, marked(mark)),
      whenDrained: (resume) => reply.whenDrained(resume),
      gone: () => reply.gone(),
      late: () => reply.late(),
      answered: (answer, mark) => {
        if (answer.kind === "error") {
          noteError(exchange, answer)
          reply.answer(answer.text, marked(mark))
          return
        }
        succeeded(answer)
        reply.answer(transform(answer), marked(mark))
      },
      failed: (failure) => reply.fail(failure, id),
      suspended: () => reply.drop()
    })
  )
}

/** How a request to several targets is asked and answered. */
export interface Broadcast {
  readonly links: ReadonlyArray<TargetLink>
  readonly textFor: (link: TargetLink) => string
  readonly failOpen: boolean
  /** A target that does not know the method counts as one without content. */
  readonly lenient: boolean
  /** The result of the whole, as JSON text. */
  readonly merge: (answers: ReadonlyArray<Answered>) => string | McpFailure
}

/** Sends to several targets and answers with one result made of theirs. */
export const broadcast = (exchange: Exchange, { links, textFor, failOpen, lenient, merge }: Broadcast) => {
  const { backend, session, reply, message } = exchange
  const id = idText(message)
  const done = (outcome: Outcome) => {
    switch (outcome._tag) {
      case "Answers": {
        const result = merge(outcome.answers)
        if (typeof result === "string") reply.answer(resultMessage(id, result), undefined)
        else reply.fail(result, id)
        break
      }
      case "Error":
        noteError(exchange, outcome.error)
        reply.answer(outcome.error.text, undefined)
        break
      case "Failure":
        reply.fail(outcome.failure, id)
        break
      case "Cancelled":
        reply.drop()
    }
  }
  fanOut(
    links,
    {
      failOpen,
      lenient,
      timeoutMillis: backend.config.fanOutTimeoutMillis,
      after: session.after,
      // Event ids of a part mean nothing for the whole.
      related: {
        message: (text) => text === "" || reply.message(text, undefined),
        whenDrained: (resume) => reply.whenDrained(resume),
        gone: () => reply.gone(),
        late: () => reply.late()
      }
    },
    (link, out) => callTo(exchange, undefined, textFor(link), false, (answer) => answer.text, out),
    noUpstreams(exchange.modern),
    done
  )
}
