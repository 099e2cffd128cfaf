/** The client under test of the conformance suite: an official client behind a relay, in front of the suite's server. */
import { Client } from "@modelcontextprotocol/sdk/client/index.js"
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js"
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js"
import { startRelay } from "./relay-server.ts"

const server = new URL(process.argv[2] ?? "")
const relay = await startRelay({
  targets: [
    {
      name: "suite",
      kind: "http",
      address: server.host,
      dialogue: { protocol: "streamable", path: server.pathname }
    }
  ]
})
const client = new Client(
  { name: "client", version: "1.0.0" },
  { capabilities: { elicitation: { form: { applyDefaults: true } } } }
)
client.setRequestHandler(ElicitRequestSchema, () => ({ action: "accept", content: {} }))
await client.connect(new StreamableHTTPClientTransport(relay.url) as never)
const { tools } = await client.listTools()
for (const { name } of tools) await client.callTool({ name, arguments: { a: 2, b: 3 } })
await client.close()
await relay.close()
