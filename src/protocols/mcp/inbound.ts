/**
 * Messages of a target in the client's form: ids and tokens of its requests wrapped, URIs and task ids prefixed.
 * Everything else in them stays as the target wrote it.
 */

import { arrayAt, type Edit, edited, type Member, objectAt, path, stringIn } from "../../json/text.ts"
import { idAt, progressTokenOf, type RpcNotification, type RpcRequest, type RpcResponse } from "./envelope.ts"
import { type Naming, prefixedTask, prefixedUri } from "./names.ts"
import { wrapId } from "./request-id.ts"

/** The reserved `_meta` key that ties a message to a task. */
export const relatedTask = "io.modelcontextprotocol/related-task"

const quoted = (span: { readonly start: number; readonly end: number }, value: string): Edit => ({
  start: span.start,
  end: span.end,
  by: JSON.stringify(value)
})

const taskEdit = (
  naming: Naming,
  target: string,
  text: string,
  members: ReadonlyArray<Member> | undefined,
  key: string,
  ...rest: ReadonlyArray<string>
): ReadonlyArray<Edit> => {
  if (!naming.multiplexing) return []
  const span = path(text, members, key, ...rest)
  const task = stringIn(text, span)
  return task === undefined ? [] : [quoted(span!, prefixedTask(target, task))]
}

/** A request of the target to the client. With one target its progress tokens cannot collide and stay. */
export const requestForClient = (naming: Naming, target: string, message: RpcRequest): string => {
  const { text, id, idSpan } = message
  const edits = [quoted(idSpan, wrapId(target, id, text.slice(idSpan.start, idSpan.end)))]
  const params = message.params?.members
  const progress = naming.multiplexing ? progressTokenOf(message, params) : undefined
  if (progress !== undefined)
    edits.push(
      quoted(progress.span, wrapId(target, progress.token, text.slice(progress.span.start, progress.span.end)))
    )
  edits.push(...taskEdit(naming, target, text, params, "_meta", relatedTask, "taskId"))
  return edited(text, edits)
}

/** A notification of the target. */
export const notificationForClient = (naming: Naming, target: string, message: RpcNotification): string => {
  const { text, method } = message
  if (method === "notifications/cancelled") {
    const span = path(text, message.params?.members, "requestId")
    const id = idAt(text, span)
    return id === undefined
      ? text
      : edited(text, [quoted(span!, wrapId(target, id, text.slice(span!.start, span!.end)))])
  }
  if (naming.passThrough) return text
  const params = message.params?.members
  const edits: Array<Edit> = []
  if (method === "notifications/resources/updated") {
    const span = path(text, params, "uri")
    const uri = stringIn(text, span)
    if (uri !== undefined) edits.push(quoted(span!, prefixedUri(target, uri)))
  }
  if (method.startsWith("notifications/tasks")) edits.push(...taskEdit(naming, target, text, params, "taskId"))
  edits.push(...taskEdit(naming, target, text, params, "_meta", relatedTask, "taskId"))
  return edited(text, edits)
}

/** An answer to a request for one item: URIs of the contents read, ids of tasks. */
export const answerForClient = (naming: Naming, target: string, method: string, message: RpcResponse): string => {
  if (naming.passThrough) return message.text
  const { text } = message
  const result = objectAt(text, message.result.start)
  const edits: Array<Edit> = []
  if (method === "resources/read") {
    const contents = path(text, result, "contents")
    for (const content of (contents && arrayAt(text, contents.start)) ?? []) {
      const span = path(text, objectAt(text, content.start), "uri")
      const uri = stringIn(text, span)
      if (uri !== undefined) edits.push(quoted(span!, prefixedUri(target, uri)))
    }
  }
  edits.push(
    ...taskEdit(naming, target, text, result, "taskId"),
    ...taskEdit(naming, target, text, result, "task", "taskId"),
    ...taskEdit(naming, target, text, result, "_meta", relatedTask, "taskId")
  )
  return edited(text, edits)
}
