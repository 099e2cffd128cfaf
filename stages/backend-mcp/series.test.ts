import { assert, describe, it } from "@effect/vitest"
import * as Prometheus from "../../layers/metrics/prometheus.ts"
import { noMcpFacts } from "../../src/protocols/mcp/call-record.ts"
import type { McpFacts } from "../../src/protocols/mcp/contract.ts"
import { makeMcpSeries } from "./series.ts"

const nowhere = { backend: undefined, listener: undefined, route: undefined }
const facts = (known: Partial<McpFacts>): McpFacts => ({ ...noMcpFacts(), ...known })

/** The lines of the counter, without what is unknown. */
const counted = async (all: ReadonlyArray<McpFacts>) => {
  const metrics = Prometheus.make()
  const count = makeMcpSeries(metrics, { record: () => {} })
  for (const one of all) count(nowhere, one)
  return (await metrics.scrape()).text
    .split("\n")
    .filter((line) => line.startsWith("headgate_mcp_requests_total"))
    .map((line) => line.replace(/(?:,|(?<=\{))[a-z_]+="unknown"/g, "").slice("headgate_mcp_requests_total".length))
}

describe("the counter of MCP requests", () => {
  it("does not count what has no method, nor tells tasks apart", async () => {
    const task = (name: string) => facts({ method: "tasks/get", resourceType: "task", target: "t", name })
    assert.deepStrictEqual(await counted([facts({}), task("1"), task("2")]), [
      '{method="tasks/get",resource_type="task",server="t"} 2'
    ])
  })

  const call = (name: string, result?: string) =>
    facts({ method: "tools/call", resourceType: "tool", target: "t", name, result })

  it("counts names as one until the target has answered for them: an error that names the tool is no answer", async () => {
    const lines = await counted([
      call("made-up-1"),
      call("made-up-2", '{"result":{"content":[{"type":"text","text":"Unknown tool: made-up-2"}],"isError":true}}'),
      call('made"up', '{"result":{"isError" : true,"content":[{"type":"text","text":"Tool made\\"up not found"}]}}'),
      call("failing", '{"result":{"content":[{"type":"text","text":"no such file"}],"isError":true}}'),
      call("add", '{"result":{"content":[],"isError":false}}'),
      call("add"),
      call("echo", '{"result":{"content":[{"text":"\\"isError\\":true"}]}}')
    ])
    assert.deepStrictEqual(lines.sort(), [
      '{method="tools/call",resource_type="tool",server="t",resource="add"} 2',
      '{method="tools/call",resource_type="tool",server="t",resource="echo"} 1',
      '{method="tools/call",resource_type="tool",server="t",resource="failing"} 1',
      '{method="tools/call",resource_type="tool",server="t"} 3'
    ])
  })

  it("stays within bounds where a target answers for whatever name", async () => {
    const calls = Array.from({ length: 1100 }, (_, i) => call(`made-up-${i}`, '{"result":{}}'))
    // What was known before goes on being counted by its name.
    const lines = await counted([...calls, calls[7]!])
    assert.strictEqual(lines.length, 1001)
    assert.include(lines, '{method="tools/call",resource_type="tool",server="t",resource="other"} 100')
    assert.include(lines, '{method="tools/call",resource_type="tool",server="t",resource="made-up-7"} 2')
  })

  it("counts methods of no revision as one", async () => {
    const lines = await counted([facts({ method: "made/up" }), facts({ method: "notifications/made-up" })])
    assert.deepStrictEqual(lines, ['{method="other"} 2'])
  })
})
