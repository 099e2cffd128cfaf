/**
 * Which call a message of a shared channel belongs to. Child processes say it only for progress; for the rest it has to
 * be told from what is under way.
 */
import type { Call } from "./call.ts"
import { progressTokenOf, type RpcNotification, type RpcRequest } from "./envelope.ts"

type Pending = ReadonlyMap<string, { readonly call: Call }>

/** Concern the session, not a call, whatever call happens to run. */
const isSessionWide = (method: string) =>
  method.endsWith("/list_changed") || method === "notifications/resources/updated"

/** The call that began last. */
export const newest = <P>(pending: ReadonlyMap<string, P>): P | undefined => {
  let last: P | undefined
  for (const one of pending.values()) last = one
  return last
}

/**
 * `undefined`: the message belongs to the session's listening stream. With several calls under way that is the safer
 * place; without such a stream the newest call that has a reader takes it, because a client that never sees a request
 * never answers it.
 */
export const callOfMessage = (
  pending: Pending,
  message: RpcRequest | RpcNotification,
  listening: boolean
): Call | undefined => {
  if (message.method === "notifications/progress") {
    const token = progressTokenOf(message, message.params?.members)?.token
    for (const { call } of pending.values()) if (call.token !== undefined && call.token === token) return call
  }
  if (isSessionWide(message.method) || (listening && pending.size > 1)) return undefined
  let read: Call | undefined
  for (const { call } of pending.values()) if (!call.out.gone()) read = call
  return read
}
