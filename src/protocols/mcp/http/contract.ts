/** MCP targets behind HTTP, as streamable HTTP or as the older pair of an SSE stream and a POST endpoint; and servers that do not speak MCP. */
import type { Effect } from "effect"
import type { Answer } from "../../../http/message.ts"
import type { StageError } from "../../../pipeline/stage.ts"
import type { McpTransport, McpTransportEvents, TargetFailure } from "../../../services/mcp-transport.ts"

/** A request to a target. */
export interface McpUpstreamRequest {
  readonly method: string
  /** Path with query. */
  readonly path: string
  /** Flat raw list, names in lower case. */
  readonly headers: Array<string>
  readonly body: string | Uint8Array | undefined
}

/** Calls a target by way of its policies. */
export interface McpCaller {
  /** The scheme, the host, and the port unless that is the usual one. */
  readonly origin: string
  /**
   * Ends with the head of the answer; interrupting it, or cancelling the body, ends the call.
   * @param repeatable it does no harm when the target gets it a second time.
   */
  readonly call: (request: McpUpstreamRequest, repeatable: boolean) => Effect.Effect<Answer, StageError>
}

/** How an MCP server is spoken with. */
export interface McpHttpDialogue {
  readonly protocol: "streamable" | "sse"
  /** Path with query; an empty one becomes `/mcp` or `/sse`. */
  readonly path: string
}

/** A whole answer of a server that does not speak MCP, whatever its status. */
export interface McpPlainAnswer {
  readonly status: number
  readonly body: Uint8Array
}

/** A server that can be called. */
export interface McpHttpServer {
  /** Makes the state of a conversation; nothing is sent before the first message. */
  readonly open: (
    dialogue: McpHttpDialogue,
    /** The session at the target, when it was begun before: by another process, or earlier by this one. */
    sessionId: string | undefined,
    events: McpTransportEvents
  ) => McpTransport
  /** One request to a server that does not speak MCP. The returned function gives it up: then nothing is told. */
  readonly ask: (request: McpUpstreamRequest, told: (answer: McpPlainAnswer | TargetFailure) => void) => () => void
}
