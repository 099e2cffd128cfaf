/** What the relay is built from: targets and modes of one MCP backend, already decoded and with defaults applied. */
import type { Context } from "effect"
import type { McpStdioCommand } from "../../services/mcp-stdio.ts"
import type { McpHttpDialogue } from "./http/contract.ts"
import type { OpenApiInterface } from "./openapi.ts"

/** `_` and `+` separate a target's name from its items, so no name may hold them. */
const namePattern = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/

/** A DNS-1123 subdomain of at most 253 characters. */
export const isTargetName = (name: string): boolean => name.length <= 253 && namePattern.test(name)

/**
 * One MCP server: a command to run, a server behind HTTP, or an HTTP interface that becomes one. The name satisfies `isTargetName`
 * and is unique in its backend; an address is what tells a server from others.
 */
export type McpTarget =
  | { readonly name: string; readonly kind: "stdio"; readonly command: McpStdioCommand }
  | { readonly name: string; readonly kind: "http"; readonly address: string; readonly dialogue: McpHttpDialogue }
  | {
      readonly name: string
      readonly kind: "openapi"
      readonly address: string
      /** What tells it from others: itself, or where it is described and how that is asked. Holds credentials. */
      readonly document: OpenApiInterface | { readonly url: string; readonly policies: unknown }
      /** As it is described now; `undefined` until that is known. */
      readonly api: () => OpenApiInterface | undefined
      /** Tries to have a description, for a short time, and tells when that is over. Whoever is called for that is called with `context`. */
      readonly load: (context: Context.Context<never> | undefined, done: () => void) => void
    }

/** Bounds on what clients and targets can make the relay hold. */
export interface McpLimits {
  /** Bytes of a client's POST body. */
  readonly bodyBytes: number
  /** Characters that may wait for a client which does not read its stream. */
  readonly queuedChars: number
  /** Requests that a target may leave unanswered in one session at a time, and as many other messages that it has not taken. */
  readonly pendingRequests: number
  /** Messages of a batch (2025-03-26 only). */
  readonly batchMessages: number
  /** Pages read from one target when its names are resolved. */
  readonly listPages: number
  /** Sessions at a time, and child processes. */
  readonly sessions: number
  readonly children: number
  /** Sessions at a time of the callers without a principal that share an address (of IPv6: a network of 64 bits). */
  readonly sessionsPerAddress: number
}

/** 2 MiB a body, 32 Mi characters queued, 1024 open requests a session, 100 messages a batch, 64 pages, 65,536 sessions, 512 children, 32 sessions an address. */
export const defaultLimits: McpLimits = {
  bodyBytes: 2 * 1024 * 1024,
  queuedChars: 32 * 1024 * 1024,
  pendingRequests: 1024,
  batchMessages: 100,
  listPages: 64,
  sessions: 65_536,
  children: 512,
  sessionsPerAddress: 32
}

/** One MCP backend. */
export interface McpBackendConfig {
  /** Identity of the backend. A session id is worth nothing at another one. */
  readonly backend: string
  /** What an operator calls it; default: its identity. */
  readonly name: string
  readonly targets: ReadonlyArray<McpTarget>
  readonly statefulMode: "stateful" | "stateless"
  readonly prefixMode: "conditional" | "always" | "never"
  readonly failureMode: "failClosed" | "failOpen"
  /** `undefined`: as the listener demands, see `dns-rebinding.ts`. */
  readonly dnsRebindingProtection: boolean | undefined
  /** A session that was not used for this long is forgotten; default 30 minutes. */
  readonly sessionTtlMillis: number
  /** Quiet streams carry a comment this often; 0 switches it off. Default 15 seconds. */
  readonly keepAliveMillis: number
  /** A target that takes longer in a request to several targets counts as failed; 0 switches it off. Default 60 seconds. */
  readonly fanOutTimeoutMillis: number
  readonly limits: McpLimits
}

/** The defaults of the configuration file for everything but the name and the targets. */
export const mcpBackendConfig = (
  config: Pick<McpBackendConfig, "backend" | "targets"> & Partial<McpBackendConfig>
): McpBackendConfig => ({
  name: config.backend,
  statefulMode: "stateful",
  prefixMode: "conditional",
  failureMode: "failClosed",
  dnsRebindingProtection: undefined,
  sessionTtlMillis: 30 * 60_000,
  keepAliveMillis: 15_000,
  fanOutTimeoutMillis: 60_000,
  limits: defaultLimits,
  ...config
})
