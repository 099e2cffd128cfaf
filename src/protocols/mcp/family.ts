/**
 * What the MCP backends of one configuration have in common: the key and the life of their sessions, and who is who among
 * them. One is made for each configuration, so that a reload changes what it should and nothing else.
 */
import { createHash, type Hash } from "node:crypto"
import { Context } from "effect"
import { makeSessionIds, type SessionIds } from "./session-id.ts"

export class McpFamily extends Context.Service<
  McpFamily,
  {
    readonly sessionIds: SessionIds
    /** Milliseconds after which an unused session ends. */
    readonly sessionTtl: number
    /**
     * The identity of a backend: a session id is worth nothing at another one, and with another key it is another one. It
     * comes from what the backend is, not from where it stands, so that routes around it may come and go.
     */
    readonly identify: (content: string) => string
  }
>()("headgate/protocols/mcp/McpFamily") {}

/** @param keyOf 32 bytes. Asked with the first backend: most configurations have none, and need no cryptography for it. */
export const mcpFamily = (keyOf: () => Uint8Array, sessionTtl: number): McpFamily["Service"] => {
  const twins = new Map<string, number>()
  let keyed: { readonly hash: Hash; readonly sessionIds: SessionIds } | undefined
  const withKey = () => {
    if (keyed !== undefined) return keyed
    const key = keyOf()
    keyed = { hash: createHash("sha256").update(key), sessionIds: makeSessionIds(key) }
    return keyed
  }
  return {
    get sessionIds() {
      return withKey().sessionIds
    },
    sessionTtl,
    identify: (content) => {
      const digest = withKey().hash.copy().update(content).digest("base64url")
      const before = twins.get(digest) ?? 0
      twins.set(digest, before + 1)
      return `${digest}.${before}`
    }
  }
}
