/** What all MCP relays of a process share: who this process is, its clock, and its key where no configuration has one. */
import { Context } from "effect"
import type { McpRelayOptions } from "./relay.ts"

export class McpProcess extends Context.Service<
  McpProcess,
  Pick<McpRelayOptions, "owner" | "product" | "clock"> & {
    /** The key that encrypts session ids: SESSION_KEY, else that of the configuration, else one of this process alone. */
    readonly keyFor: (configured: string | undefined) => Uint8Array
  }
>()("headgate/protocols/mcp/McpProcess") {}
