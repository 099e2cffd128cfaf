/** Protocol revisions of MCP, and the rules by which the version header and the body of a request must agree. */

import { type Member, path, stringIn } from "../../json/text.ts"
import type { RpcMessage } from "./envelope.ts"
import { code, type McpFailure, refusal, rpcRefusal, unknownMethod, unsupportedVersionText } from "./errors.ts"
import { methodRule } from "./methods.ts"

/** Every revision that the header may name, oldest first. */
export const knownVersions: ReadonlyArray<string> = [
  "2024-11-05",
  "2025-03-26",
  "2025-06-18",
  "2025-11-25",
  "2026-07-28"
]

/** The newest revision with a handshake: what the relay asks for when it makes the handshake itself. */
export const latestLegacyVersion = "2025-11-25"

/** The only revision that has JSON-RPC batches, and the one that a missing header stands for (2025-06-18, transports). */
export const batchVersion = "2025-03-26"

const known = new Set(knownVersions)

/** Revisions without sessions and handshake. Version names are dates: text order is their order. */
export const isModern = (version: string | undefined): boolean => version !== undefined && version >= "2026-07-28"

/** A version that the header may name. */
export const isKnown = (version: string): boolean => known.has(version)

const metaVersion = "io.modelcontextprotocol/protocolVersion"
const ascii = /^[\x20-\x7e]*$/

/** Which generation of the protocol a client speaks. */
export interface Era {
  readonly modern: boolean
  /** From the header, else from the body; `undefined` if neither names it. */
  readonly version: string | undefined
}

const bodyVersion = (message: RpcMessage, params: ReadonlyArray<Member> | undefined): string | undefined => {
  if (message.kind !== "request" && message.kind !== "notification") return undefined
  const meta = stringIn(message.text, path(message.text, params, "_meta", metaVersion))
  if (meta !== undefined || message.method !== "initialize") return meta
  return stringIn(message.text, path(message.text, params, "protocolVersion"))
}

const mismatch = rpcRefusal(400, code.headerMismatch, "MCP protocol version header/body mismatch")
const missingMeta = rpcRefusal(400, code.invalidParams, `params._meta["${metaVersion}"] is required`)

/** Which kind of client speaks, or why the message is refused. */
export const eraOf = (versionHeader: string | undefined, message: RpcMessage): Era | McpFailure => {
  if (versionHeader !== undefined) {
    if (!ascii.test(versionHeader)) return refusal.invalidVersionHeader
    if (!known.has(versionHeader)) {
      if (message.kind !== "request") return unsupportedVersionText(versionHeader)
      const data = message.method === "initialize" ? undefined : { supported: knownVersions, requested: versionHeader }
      return rpcRefusal(400, code.unsupportedVersion, `unsupported MCP protocol version: ${versionHeader}`, data)
    }
  }
  const modern = isModern(versionHeader)
  if (modern && message.kind === "request" && methodRule(message.method)?.modern !== true)
    return unknownMethod(true, message.method)
  const params = message.kind === "request" || message.kind === "notification" ? message.params?.members : undefined
  const inBody = bodyVersion(message, params)
  if (versionHeader === undefined) {
    // Without the header an `initialize` may still ask for any version: the target negotiates.
    if (isModern(inBody) && !(message.kind === "request" && message.method === "initialize"))
      return refusal.invalidVersionHeader
    return { modern: false, version: inBody }
  }
  if (modern && message.kind === "request" && inBody === undefined) return missingMeta
  if (inBody !== undefined && inBody !== versionHeader) return mismatch
  return { modern, version: versionHeader }
}
