/** The adapters behind the ports of policies and terminals, made once for a process and kept across reloads. */
import { randomUUID } from "node:crypto"
import { Layer } from "effect"
import * as Files from "../../layers/files.ts"
import * as Upstream from "../../layers/http/upstream.ts"
import * as HttpFetch from "../../layers/http-fetch/undici.ts"
import * as Jwks from "../../layers/jwks/live.ts"
import * as Kept from "../../layers/kept.ts"
import * as McpHttp from "../../layers/mcp-http/layer.ts"
import * as RateLimits from "../../layers/rate-limits/memory.ts"
import * as Stdio from "../../layers/stdio/layer.ts"
import { McpProcess } from "../protocols/mcp/process.ts"
import { makeSessionIds, randomSessionKey, sessionKey } from "../protocols/mcp/session-id.ts"
import { Log } from "../services/log.ts"
import { version } from "./version.ts"

export interface PortOptions {
  /** SESSION_KEY: 64 hexadecimal digits. Without it, sessions end with the process. */
  readonly sessionKey: string | undefined
  /** Milliseconds after which an unused MCP session ends. */
  readonly sessionTtl: number
}

/** 30 minutes. */
export const defaultPortOptions: PortOptions = { sessionKey: undefined, sessionTtl: 1_800_000 }

const mcpProcess = (options: PortOptions) =>
  Layer.sync(McpProcess, () => ({
    sessionIds: makeSessionIds(
      (options.sessionKey === undefined ? undefined : sessionKey(options.sessionKey)) ?? randomSessionKey()
    ),
    owner: randomUUID(),
    product: { name: "headgate", title: "Headgate", version: version.version },
    sessionTtl: options.sessionTtl,
    clock: {
      now: () => performance.now(),
      after: (millis: number, action: () => void) => {
        const timer = setTimeout(action, millis)
        return () => clearTimeout(timer)
      }
    }
  }))

export const ports = (options: PortOptions) =>
  Layer.mergeAll(
    Upstream.layer,
    Kept.layer,
    Files.layer,
    RateLimits.layer,
    McpHttp.layer(),
    mcpProcess(options),
    Layer.unwrap(
      Log.useSync(({ log }) =>
        Stdio.layer({ log: ({ backend, target }, line) => log("info", "mcp.stdio", line, { backend, target }) })
      )
    ),
    Layer.provideMerge(Jwks.layer, HttpFetch.layer)
  )
