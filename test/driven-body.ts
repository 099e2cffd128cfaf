/** A body of tests that somebody else drives: what comes of it is said by hand, and how often it was asked to go on is counted. */
import type { BodySink, BodySource } from "../src/http/body.ts"

export const driven = () => {
  let sink: BodySink | undefined
  let resumed = 0
  const source: BodySource = {
    start: (to) => {
      sink = to
    },
    resume: () => {
      resumed++
    },
    cancel: () => {}
  }
  return { source, sink: () => sink!, resumed: () => resumed }
}
