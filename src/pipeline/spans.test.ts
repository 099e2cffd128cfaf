import { assert, describe, it } from "@effect/vitest"
import { HeaderList } from "../http/header-list.ts"
import { RequestHead } from "../http/message.ts"
import type { FinishedSpan } from "../services/span-sink.ts"
import { TimedOut } from "./errors.ts"
import { Exchange } from "./exchange.ts"
import { Passage } from "./passage.ts"
import type { StageFinished } from "./run.ts"
import { Spans } from "./spans.ts"

/** The spans of a request that came at 100 on the monotonic clock, and in which these nodes ran. */
const spansOf = (...nodes: ReadonlyArray<Pick<StageFinished, "outcome" | "error">>) => {
  const x = new Exchange(
    new RequestHead("GET", "http", "example.com", "/a?b", new HeaderList()),
    undefined,
    { address: "192.0.2.1", port: 4000, rawAddress: "192.0.2.1", rawPort: 4000 },
    5000,
    100
  )
  const added: Array<FinishedSpan> = []
  const spans = new Spans(
    undefined,
    () => 140,
    (finished) => added.push(...finished)
  )
  const passage = new Passage(x)
  spans.started(passage)
  const step = { policy: "authorization", node: "rules", phase: "route" } as StageFinished["step"]
  for (const node of nodes) spans.stage(passage, { step, start: 110, end: 120, afterwards: false, ...node })
  x.finish({ status: 403, failure: undefined, bytes: 0 }, (cause) => {
    throw cause
  })
  return added
}

describe("the spans of a request", () => {
  it("tell of a node that failed why, where that is known", () => {
    const error = new TimedOut()
    const [told, forgiven, interrupted, request] = spansOf(
      { outcome: "failed", error },
      { outcome: "failedOpen", error },
      { outcome: "failed", error: undefined }
    )
    assert.deepInclude(told, {
      name: "stage.route.rules",
      kind: "internal",
      start: 5010,
      end: 5020,
      attributes: { "hg.policy": "authorization", "hg.outcome": "failed" },
      error: "request timeout"
    })
    assert.deepInclude(forgiven, { error: undefined })
    assert.deepInclude(interrupted, { error: undefined })
    assert.deepInclude(request, { name: "GET /a", kind: "server", start: 5000, end: 5040, parentSpanId: undefined })
    assert.deepEqual(
      new Set([told, forgiven, interrupted].map((span) => span?.parentSpanId)),
      new Set([request?.spanId])
    )
  })

  it("are none for a node that was passed over", () => {
    assert.strictEqual(spansOf({ outcome: "skipped", error: undefined }).length, 1)
  })
})
