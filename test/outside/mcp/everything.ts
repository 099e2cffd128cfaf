/** The reference server of the MCP project, as a child of the relay or as an HTTP server of its own. */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { fileURLToPath } from "node:url"
import type { McpTarget } from "../../../src/protocols/mcp/config.ts"
import { freePort } from "../../free-ports.ts"

const script = fileURLToPath(import.meta.resolve("@modelcontextprotocol/server-everything/dist/index.js"))

export const everythingStdio = (name: string): McpTarget => ({
  name,
  kind: "stdio",
  command: { cmd: process.execPath, args: [script, "stdio"], env: {}, inheritEnv: [], clearEnv: false }
})

export const httpTarget = (name: string, port: number, protocol: "streamable" | "sse" = "streamable"): McpTarget => ({
  name,
  kind: "http",
  address: `127.0.0.1:${port}`,
  dialogue: { protocol, path: protocol === "sse" ? "/sse" : "/mcp" }
})

export interface EverythingServer {
  readonly port: number
  readonly close: () => Promise<void>
}

export const startEverything = async (): Promise<EverythingServer> => {
  const port = await freePort()
  const child = spawn(process.execPath, [script, "streamableHttp"], {
    env: { ...process.env, PORT: String(port) },
    stdio: ["ignore", "ignore", "pipe"]
  })
  let said = ""
  await new Promise<void>((resolve, reject) => {
    child.stderr.on("data", (chunk: Buffer) => {
      said += chunk
      if (said.includes("listening")) resolve()
    })
    child.on("exit", () => reject(new Error(`the server did not start: ${said}`)))
  })
  return {
    port,
    close: async () => {
      child.removeAllListeners("exit")
      child.kill("SIGKILL")
      await once(child, "close")
    }
  }
}
