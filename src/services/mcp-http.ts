/**
 * Port: MCP targets behind HTTP, as streamable HTTP or as the older pair of an SSE stream and a POST endpoint; and servers
 * that are made targets though they do not speak MCP.
 */
import { Context, type Effect, type Scope } from "effect"
import type { McpTransport, McpTransportEvents, TargetFailure } from "./mcp-transport.ts"
import type { UpstreamOptions } from "./upstreams.ts"

/** A request to a target before it leaves. The policies of the target may change it. */
export interface McpUpstreamRequest {
  readonly method: string
  /** Path with query. */
  path: string
  /** Flat raw list, names in lower case. */
  headers: Array<string>
  readonly body: string | Uint8Array | undefined
}

/** Where a server is. */
export interface McpHttpAddress {
  readonly scheme: "http" | "https"
  /** A host name or address; IPv6 without brackets. */
  readonly host: string
  readonly port: number
  /** How connections to it are made. Their number has no bound: a session may hold one for as long as it lasts. */
  readonly connections?: Omit<UpstreamOptions, "maxConnections"> | undefined
  /** The target's own policies (credentials, header changes). A ready `Exit` costs no fiber. */
  readonly onRequest?: ((request: McpUpstreamRequest) => Effect.Effect<void, TargetFailure>) | undefined
}

/** How an MCP server is spoken with. */
export interface McpHttpDialogue {
  readonly protocol: "streamable" | "sse"
  /** Path with query; an empty one becomes `/mcp` or `/sse`. */
  readonly path: string
}

/** An MCP server. */
export interface McpHttpEndpoint extends McpHttpAddress, McpHttpDialogue {}

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

/** Knows the servers behind HTTP. */
export class McpHttp extends Context.Service<
  McpHttp,
  {
    /** Its connections are kept between sessions, for as long as somebody has it. */
    readonly at: (address: McpHttpAddress) => Effect.Effect<McpHttpServer, never, Scope.Scope>
  }
>()("headgate/services/McpHttp") {}
