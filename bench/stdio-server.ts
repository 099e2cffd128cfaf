/** An MCP server over stdio that answers every call of a tool with the same 200 bytes or so of text. */
import { createInterface } from "node:readline"

const capabilities = { tools: {} }
const initialized = { protocolVersion: "2025-11-25", capabilities, serverInfo: { name: "bench", version: "1" } }
const called = { content: [{ type: "text", text: "x".repeat(240) }] }

createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method }: { readonly id?: unknown; readonly method?: string } = JSON.parse(line)
  if (id === undefined) return
  const result = method === "initialize" ? initialized : called
  process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", id, result })}\n`)
})
