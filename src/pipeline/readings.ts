/**
 * Decisions about a request whose path can be read in two ways: they are asked of both readings, and where the answers
 * differ the request is refused. What is counted by the path is counted by the other reading.
 */
import type { Expression } from "../cel/expression.ts"
import type { RequestHead } from "../http/message.ts"
import { type Unreadable, unreadable } from "./errors.ts"
import { type FailedReading, failedReadings } from "./fail-closed.ts"

/** Whether an expression reads the path, or may do so. */
export const readsPath = ({ attributes: { paths } }: Expression): boolean =>
  telling.some((attribute) => paths.has(attribute))

const telling = ["request", "request.path", "request.uri", "request.pathAndQuery"]

/** The answer, if both readings of the path have the same; they have where the path can be read in one way only. */
export const inBothReadings = <A>(request: RequestHead, ask: () => A): A | Unreadable => {
  const answer = ask()
  return request.otherPath === undefined || inOtherReading(request, ask) === answer ? answer : unreadable.path
}

/** The answer for the reading in which all spellings that a backend may take for one path are one. */
export const inOtherReading = <A>(request: RequestHead, ask: () => A): A => {
  const { otherPath, pathAndQuery } = request
  if (otherPath === undefined) return ask()
  request.pathAndQuery = otherPath + request.query
  try {
    return ask()
  } finally {
    request.pathAndQuery = pathAndQuery
  }
}

/** What `inBothReadings` refuses, for `failsClosed` of the policy of this name. */
export const pathReadings = (by: string): ReadonlyArray<FailedReading> =>
  failedReadings(by, [
    "a path that it decides in one way as it is, and in another with what is encoded in it decoded",
    unreadable.path
  ])
