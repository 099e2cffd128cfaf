/** What a client sends without waiting for an answer: notifications to all targets, replies to the one that asked. */

import { type Edit, edited, objectAt, path, stringIn } from "../../json/text.ts"
import type { Ledger } from "./call-record.ts"
import { idAt, progressTokenOf, type RpcError, type RpcNotification, type RpcResponse } from "./envelope.ts"
import { code, type McpFailure, notSent, rpcRefusal } from "./errors.ts"
import { relatedTask } from "./inbound.ts"
import { splitTask } from "./names.ts"
import type { RequestReply } from "./reply.ts"
import { unwrapId } from "./request-id.ts"
import type { Backend, Session } from "./session.ts"
import type { TargetLink } from "./target-link.ts"

/** A message that is not answered, with where it goes. */
export interface OneWay {
  readonly backend: Backend
  readonly session: Session
  readonly headers: ReadonlyArray<string>
  readonly ledger: Ledger
  readonly reply: RequestReply
}

type Taken = (failure: McpFailure | undefined) => void

const noTarget = rpcRefusal(500, code.internal, "no upstream registered for server-initiated request id")

/** `taken` hears once whether the notification has arrived. */
export const notifyTargets = (way: OneWay, message: RpcNotification, taken: Taken) => {
  const { backend, session, headers, ledger } = way
  const { method } = message
  const failOpen = backend.config.failureMode === "failOpen"
  // The protocol's own notifications are about a session. Without one they have no meaning, and no target to meet.
  if (session.kind === "stateless" && method.startsWith("notifications/")) return taken(undefined)
  const { links, text } = addressees(session, message)
  let open = links.length
  let problem: McpFailure | undefined
  if (open === 0) return taken(undefined)
  for (const link of links)
    link.notify(text, method, headers, ledger, (failure) => {
      if (failure !== undefined && !failOpen) problem ??= failure
      if (--open === 0) taken(problem)
    })
  if (method !== "notifications/cancelled") return
  const id = idAt(message.text, path(message.text, message.params?.members, "requestId"))
  if (id !== undefined) for (const link of links) link.cancelled(id)
}

/** Progress of a request that one target made goes to that one; everything else concerns all. */
const addressees = (
  session: Session,
  message: RpcNotification
): { readonly links: ReadonlyArray<TargetLink>; readonly text: string } => {
  const all = { links: session.links(), text: message.text }
  if (!session.naming.multiplexing || message.method !== "notifications/progress") return all
  const progress = progressTokenOf(message, message.params?.members)
  const wrapped = progress && unwrapId(progress.token)
  const link = wrapped && session.link(wrapped.target)
  if (progress === undefined || wrapped === undefined || link === undefined) return all
  const { start, end } = progress.span
  return { links: [link], text: edited(message.text, [{ start, end, by: wrapped.id }]) }
}

/** The client's answer to a request of a target: the id tells which one, and what it was there. */
export const replyToTarget = (way: OneWay, message: RpcResponse | RpcError, taken: Taken) => {
  const { session, headers, ledger } = way
  const { naming } = session
  // Requests of targets are not routed without a session, so there is nobody to reply to.
  if (session.kind !== "session") return taken(undefined)
  const wrapped = message.id === undefined ? undefined : unwrapId(message.id)
  const link = wrapped === undefined ? undefined : session.link(wrapped.target)
  if (wrapped === undefined || link === undefined) {
    const only = naming.multiplexing ? undefined : session.links()[0]
    if (only !== undefined) return only.notify(message.text, undefined, headers, ledger, taken)
    return taken(message.id === undefined ? undefined : notSent(false, noTarget.message))
  }
  const edits: Array<Edit> = [{ start: message.idSpan!.start, end: message.idSpan!.end, by: wrapped.id }]
  if (naming.multiplexing && message.kind === "response") {
    const task = path(message.text, objectAt(message.text, message.result.start), "_meta", relatedTask, "taskId")
    const owner = task && splitTask(stringIn(message.text, task) ?? "")
    if (owner?.target === link.target.name)
      edits.push({ start: task!.start, end: task!.end, by: JSON.stringify(owner.name) })
  }
  link.notify(edited(message.text, edits), undefined, headers, ledger, taken)
}
