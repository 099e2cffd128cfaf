/** Port: MCP targets that run as child processes and speak JSON-RPC in lines. */
import { Context } from "effect"
import type { McpTransport, McpTransportEvents, TargetFailure } from "./mcp-transport.ts"

/** A command from the configuration file; never from a request. */
export interface McpStdioCommand {
  readonly cmd: string
  readonly args: ReadonlyArray<string>
  /** Added to what the child inherits, or the whole environment with `clearEnv`. */
  readonly env: Readonly<Record<string, string>>
  /** The variables of the gateway that the child gets beside those which any program needs. */
  readonly inheritEnv: ReadonlyArray<string>
  readonly clearEnv: boolean
}

/** For whom a process runs: the caps count per backend, and per principal or network. */
export interface McpStdioOwner {
  readonly backend: string
  /** What an operator calls it. */
  readonly backendName: string
  readonly target: string
  /** Empty for an anonymous client. */
  readonly principal: string
  /** The network from which an anonymous client calls. */
  readonly network: string
  /** The most processes of the backend, and of all anonymous clients of one network. */
  readonly most: number
  readonly mostOfNetwork: number
}

/** Starts targets that are child processes. */
export class McpStdio extends Context.Service<
  McpStdio,
  {
    /** Why this machine can have none, if so. */
    readonly refusal?: string
    /** Starts the process. A command that cannot be started is reported through `onDeath`. */
    readonly open: (
      command: McpStdioCommand,
      owner: McpStdioOwner,
      events: McpTransportEvents
    ) => McpTransport | TargetFailure
  }
>()("headgate/services/McpStdio") {}
