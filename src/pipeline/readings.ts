/**
 * Decisions about a request whose path can be read in two ways: they are asked of both readings, and the engine refuses
 * the request where the answers differ.
 */
import type { Expression } from "../cel/expression.ts"
import type { RequestHead } from "../http/message.ts"

/** Whether an expression reads the path, or may do so. */
export const readsPath = ({ attributes: { paths } }: Expression): boolean =>
  telling.some((attribute) => paths.has(attribute))

const telling = ["request", "request.path", "request.uri", "request.pathAndQuery"]

/** Asks while the path is its other reading. */
export const asOther = <A>(request: RequestHead, otherPath: string, ask: () => A): A => {
  const own = request.pathAndQuery
  request.pathAndQuery = otherPath + request.query
  try {
    return ask()
  } finally {
    request.pathAndQuery = own
  }
}

/** The answer if both readings have the same; else false, and the request is contested. */
export const inBothReadings = (request: RequestHead, ask: () => boolean): boolean => {
  const answer = ask()
  const { otherPath } = request
  if (otherPath === undefined || asOther(request, otherPath, ask) === answer) return answer
  request.contested = true
  return false
}
