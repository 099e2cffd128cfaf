/**
 * Session ids: the state of a session, encrypted with AES-256-GCM. Any process that has the key can go on with the
 * session; backend, listener and principal are authenticated with it, so that an id is worth nothing in another place
 * or in other hands.
 */
import { Buffer } from "node:buffer"
import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto"

/** Where and for whom an id is valid. */
export interface SessionBinding {
  readonly backend: string
  readonly listener: string
  readonly principal: string
}

/** What any process needs to go on with a session. */
export interface SessionState {
  /** The targets and their own session ids; `undefined` if the session lives in one process only. */
  readonly targets: ReadonlyArray<{ readonly name: string; readonly session: string | undefined }> | undefined
  /** The process that holds the session, for those that live in one only. */
  readonly owner: string
  /** Negotiated protocol version. */
  readonly version: string | undefined
}

/** Makes and reads ids with one key. */
export interface SessionIds {
  readonly encode: (state: SessionState, binding: SessionBinding) => string
  /** `undefined` for everything that `encode` did not make with this key for this binding. */
  readonly decode: (id: string, binding: SessionBinding) => SessionState | undefined
}

/** SESSION_KEY: 64 hexadecimal digits. `undefined` for anything else. */
export const sessionKey = (hex: string): Uint8Array | undefined => {
  const trimmed = hex.trim()
  return /^[0-9a-fA-F]{64}$/.test(trimmed) ? Buffer.from(trimmed, "hex") : undefined
}

/** Without SESSION_KEY: sessions are good for this process, and end with it. */
export const randomSessionKey = (): Uint8Array => randomBytes(32)

const nonceBytes = 12
const tagBytes = 16
const algorithm = "aes-256-gcm"

/** Longer ids would not fit the header limits of clients and proxies. */
export const maxIdChars = 4096

const associated = (binding: SessionBinding) =>
  Buffer.from(JSON.stringify(["mcp", binding.backend, binding.listener, binding.principal]), "utf8")

const plaintext = (state: SessionState): string =>
  JSON.stringify({
    t: "mcp",
    s: state.targets?.map(({ name, session }) => (session === undefined ? { t: name } : { t: name, s: session })),
    o: state.owner,
    v: state.version
  })

const optionalString = (value: unknown): value is string | undefined => value === undefined || typeof value === "string"

const stateIn = (json: string): SessionState | undefined => {
  const value = JSON.parse(json) as { t?: unknown; s?: unknown; o?: unknown; v?: unknown }
  if (value.t !== "mcp" || typeof value.o !== "string" || !optionalString(value.v)) return undefined
  if (value.s === undefined) return { targets: undefined, owner: value.o, version: value.v }
  if (!Array.isArray(value.s)) return undefined
  const targets: Array<{ name: string; session: string | undefined }> = []
  for (const target of value.s as ReadonlyArray<{ t?: unknown; s?: unknown }>) {
    if (typeof target.t !== "string" || !optionalString(target.s)) return undefined
    targets.push({ name: target.t, session: target.s })
  }
  return { targets, owner: value.o, version: value.v }
}

/** `key` has 32 bytes. The random nonce makes every id unique, also those of sessions without state. */
export const makeSessionIds = (key: Uint8Array): SessionIds => ({
  encode: (state, binding) => {
    const nonce = randomBytes(nonceBytes)
    const cipher = createCipheriv(algorithm, key, nonce).setAAD(associated(binding))
    const sealed = [nonce, cipher.update(plaintext(state), "utf8"), cipher.final(), cipher.getAuthTag()]
    return Buffer.concat(sealed).toString("base64url")
  },
  decode: (id, binding) => {
    if (id.length > 4 * maxIdChars) return undefined
    const bytes = Buffer.from(id, "base64url")
    // Other spellings of the same bytes are other ids.
    if (bytes.length <= nonceBytes + tagBytes || bytes.toString("base64url") !== id) return undefined
    const end = bytes.length - tagBytes
    const decipher = createDecipheriv(algorithm, key, bytes.subarray(0, nonceBytes), { authTagLength: tagBytes })
      .setAAD(associated(binding))
      .setAuthTag(bytes.subarray(end))
    try {
      const json = decipher.update(bytes.subarray(nonceBytes, end), undefined, "utf8") + decipher.final("utf8")
      return stateIn(json)
    } catch {
      return undefined
    }
  }
})
