import { assert, describe, it } from "@effect/vitest"
import { HeaderList } from "../http/header-list.ts"
import { RequestHead } from "../http/message.ts"
import type { Metrics } from "../services/metrics.ts"
import { ClientStalled, NotFound } from "./errors.ts"
import { Exchange } from "./exchange.ts"
import { Passage } from "./passage.ts"
import { makeRecorder } from "./record.ts"
import type { StageError } from "./stage.ts"

const unused = () => {
  throw new Error("not asked for here")
}

describe("the counts of requests", () => {
  it("tell outcomes apart in whatever order they come", () => {
    const counts: Record<string, number> = {}
    const family = (name: string) => ({
      series: (labels: ReadonlyArray<string | undefined>) => ({
        record: (value: number) => {
          const [, , method, status, reason] = labels
          const key = `${method} ${status} ${reason}`
          if (name === "requests_total") counts[key] = (counts[key] ?? 0) + value
        }
      })
    })
    const metrics: Metrics["Service"] = {
      counter: family,
      histogram: family,
      gauge: unused,
      gathered: unused,
      remove: unused,
      read: unused,
      scrape: unused
    }
    const record = makeRecorder({ enabled: () => false, log: unused, form: unused, record: unused }, metrics, () => 0)
    const ended = (method: string, status: number | undefined, error?: StageError) => {
      const x = new Exchange(
        new RequestHead(method, "http", "example.com", "/", new HeaderList()),
        undefined,
        { address: "127.0.0.1", port: 1, rawAddress: "127.0.0.1", rawPort: 1 },
        0,
        0
      )
      x.error = error
      record(new Passage(x), { status, failure: undefined, bytes: 0 })
    }
    const notFound = new NotFound({ what: "route" })
    const turns = [
      () => ended("GET", 200),
      () => ended("POST", 200),
      () => ended("GET", 404, notFound),
      () => ended("GET", 404),
      () => ended("GET", 408, new ClientStalled()),
      () => ended("GET", undefined)
    ]
    for (const [index, turn] of turns.entries()) for (let i = 0; i <= index; i++) turn()
    for (const turn of turns.toReversed()) turn()
    assert.deepStrictEqual(counts, {
      "GET 200 DirectResponse": 2,
      "POST 200 DirectResponse": 3,
      "GET 404 NotFound": 4,
      "GET 404 DirectResponse": 5,
      "GET 408 Timeout": 6,
      "GET undefined DirectResponse": 7
    })
  })
})
