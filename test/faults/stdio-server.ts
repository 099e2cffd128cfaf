/** An MCP server over stdio whose end is interesting: it has a child of its own, and a tool that never answers. */
import { spawn } from "node:child_process"
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js"
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js"

const child = spawn("sleep", ["600"], { stdio: "ignore" })
const server = new McpServer({ name: "frail", version: "1.0.0" })
server.registerTool("processes", { description: "The processes of this server." }, () => ({
  content: [{ type: "text", text: JSON.stringify([process.pid, child.pid]) }]
}))
server.registerTool("hang", { description: "Never answers." }, () => new Promise(() => {}))
await server.connect(new StdioServerTransport())
