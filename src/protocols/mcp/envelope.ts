/**
 * JSON-RPC 2.0 messages (MCP base protocol): which kind a text is, its id, its method and where its parts stand. The
 * text itself stays as it came, with all fields that this version of the relay has never heard of.
 */
import {
  arrayText,
  edited,
  type Member,
  member,
  objectAt,
  objectText,
  oneLine,
  path,
  type Span,
  settingMembers,
  skipSpace,
  stringIn
} from "../../json/text.ts"

/** Ids of requests, and progress tokens. */
export type RpcId = string | number

/** Compares ids of both types: 1 and "1" are two requests. */
export const idKey = (id: RpcId): string => (typeof id === "string" ? `s${id}` : `n${id}`)

interface Base {
  /** The message on one line. All spans refer to it. */
  readonly text: string
  readonly members: ReadonlyArray<Member>
}
/** Where they stand, and what they hold: nothing where two of them have one name. */
export interface Params extends Span {
  readonly members: ReadonlyArray<Member> | undefined
}
/** Wants an answer. */
export interface RpcRequest extends Base {
  readonly kind: "request"
  readonly method: string
  readonly id: RpcId
  readonly idSpan: Span
  readonly params: Params | undefined
}
/** Wants none. */
export interface RpcNotification extends Base {
  readonly kind: "notification"
  readonly method: string
  readonly params: Params | undefined
}
/** The answer, with a result. */
export interface RpcResponse extends Base {
  readonly kind: "response"
  readonly id: RpcId
  readonly idSpan: Span
  readonly result: Span
}
/** The answer, with an error. */
export interface RpcError extends Base {
  readonly kind: "error"
  /** A message that could not be read is answered without an id. */
  readonly id: RpcId | undefined
  readonly idSpan: Span | undefined
  readonly error: Span
}
/** Any message. */
export type RpcMessage = RpcRequest | RpcNotification | RpcResponse | RpcError

/** The text is not a JSON-RPC message. The message quotes nothing of it. */
export interface NotJsonRpc {
  readonly _tag: "NotJsonRpc"
  readonly message: string
}
const notJsonRpc = (message: string): NotJsonRpc => ({ _tag: "NotJsonRpc", message })

const noObject = notJsonRpc("not a JSON object")
const wrongVersion = notJsonRpc('"jsonrpc" must be "2.0"')
const badMethod = notJsonRpc('"method" must be a string')
const badParams = notJsonRpc('"params" must be an object')
const badId = notJsonRpc('"id" must be a string or a number')
const noKind = notJsonRpc('one of "method", "result" and "error" must be there')

const idIn = (text: string, span: Span): RpcId | undefined => {
  const string = stringIn(text, span)
  if (string !== undefined) return string
  const number = Number(text.slice(span.start, span.end))
  const code = text.charCodeAt(span.start)
  return (code === 0x2d || (code >= 0x30 && code <= 0x39)) && Number.isFinite(number) ? number : undefined
}

const isNull = (text: string, span: Span) => text.charCodeAt(span.start) === 0x6e

/** Reads one message. */
export const decodeMessage = (raw: string): RpcMessage | NotJsonRpc => {
  const members = objectText(raw)
  if (members === undefined) return noObject
  const text = oneLine(raw)
  if (stringIn(text, member(members, "jsonrpc")) !== "2.0") return wrongVersion
  const idSpan = member(members, "id")
  const id = idSpan === undefined ? undefined : idIn(text, idSpan)
  const methodSpan = member(members, "method")
  const result = member(members, "result")
  const error = member(members, "error")
  if ((methodSpan ? 1 : 0) + (result ? 1 : 0) + (error ? 1 : 0) !== 1) return noKind
  if (methodSpan !== undefined) {
    const method = stringIn(text, methodSpan)
    if (method === undefined) return badMethod
    const span = member(members, "params")
    if (span !== undefined && text[span.start] !== "{") return badParams
    const params = span && { start: span.start, end: span.end, members: objectAt(text, span.start) }
    if (idSpan === undefined) return { kind: "notification", text, members, method, params }
    if (id === undefined) return badId
    return { kind: "request", text, members, method, id, idSpan, params }
  }
  if (result !== undefined) {
    if (idSpan === undefined || id === undefined) return badId
    return { kind: "response", text, members, id, idSpan, result }
  }
  if (idSpan !== undefined && id === undefined && !isNull(text, idSpan)) return badId
  return { kind: "error", text, members, id, idSpan: id === undefined ? undefined : idSpan, error: error! }
}

/** Tells a refusal from a message or a list of them. */
export const isNotJsonRpc = (decoded: unknown): decoded is NotJsonRpc =>
  typeof decoded === "object" && decoded !== null && (decoded as { _tag?: unknown })._tag === "NotJsonRpc"

/** A batch has a leading bracket. */
export const isBatch = (text: string): boolean => text[skipSpace(text, 0)] === "["

/** Reads a batch: each element by itself, so that one bad element does not hide the good ones. */
export const decodeBatch = (text: string, limit: number): ReadonlyArray<RpcMessage | NotJsonRpc> | NotJsonRpc => {
  const elements = arrayText(text)
  if (elements === undefined) return notJsonRpc("not a JSON array")
  if (elements.length === 0) return notJsonRpc("an empty batch")
  if (elements.length > limit) return notJsonRpc(`more than ${limit} messages in a batch`)
  return elements.map((element) => decodeMessage(text.slice(element.start, element.end)))
}

/** A progress token is a string or a number, like an id. */
export const progressTokenOf = (
  message: RpcRequest | RpcNotification,
  params: ReadonlyArray<Member> | undefined
): { readonly token: RpcId; readonly span: Span } | undefined => {
  const span =
    message.kind === "request"
      ? path(message.text, params, "_meta", "progressToken")
      : path(message.text, params, "progressToken")
  const token = span === undefined ? undefined : idIn(message.text, span)
  return token === undefined ? undefined : { token, span: span! }
}

/** The id or token that a span of a sound message holds. */
export const idAt = (text: string, span: Span | undefined): RpcId | undefined =>
  span === undefined ? undefined : idIn(text, span)

/** `code` and `message` of an error answer. */
export const errorOf = (message: RpcError): { readonly code: number | undefined; readonly message: string } => {
  const members = objectAt(message.text, message.error.start)
  const code = members === undefined ? undefined : member(members, "code")
  const number = code === undefined ? Number.NaN : Number(message.text.slice(code.start, code.end))
  return {
    code: Number.isFinite(number) ? number : undefined,
    message: stringIn(message.text, path(message.text, members, "message")) ?? ""
  }
}

/** The id as the client wrote it. */
export const idText = (message: RpcRequest): string => message.text.slice(message.idSpan.start, message.idSpan.end)

/**
 * The answer with another id (JSON text), or itself if it has that one. A target may have read and printed the id (`1.0`
 * for 1, a long number rounded), or left it out of an error; the client gets back what it sent.
 */
export const withId = <M extends RpcResponse | RpcError>(message: M, id: string): M => {
  const span = message.idSpan
  if (span !== undefined && message.text.slice(span.start, span.end) === id) return message
  const edits =
    span === undefined
      ? settingMembers(message.text.indexOf("{"), message.members, [["id", id]])
      : [{ start: span.start, end: span.end, by: id }]
  return decodeMessage(edited(message.text, edits)) as M
}

/** An error answer of the relay itself; `id` is JSON text. */
export const errorMessage = (id: string, code: number, message: string, data?: unknown): string =>
  `{"jsonrpc":"2.0","id":${id},"error":${JSON.stringify(data === undefined ? { code, message } : { code, message, data })}}`

/** A result of the relay itself; `id` and `result` are JSON text. */
export const resultMessage = (id: string, result: string): string => `{"jsonrpc":"2.0","id":${id},"result":${result}}`
