/** The wire shape of an MCP backend. */
export { McpBackend } from "../../spec/standalone/mcp.ts"
