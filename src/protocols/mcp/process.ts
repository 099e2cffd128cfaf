/** What all MCP relays of a process share: the key of session ids, who this process is, and its clock. */
import { Context } from "effect"
import type { McpRelayOptions } from "./relay.ts"

export class McpProcess extends Context.Service<
  McpProcess,
  Pick<McpRelayOptions, "sessionIds" | "owner" | "product" | "clock"> & {
    /** Milliseconds after which an unused session ends. */
    readonly sessionTtl: number
  }
>()("headgate/protocols/mcp/McpProcess") {}
