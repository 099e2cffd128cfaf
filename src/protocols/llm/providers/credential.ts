/** Where the credential of a provider call goes: into which header a key, or to which cloud the signing of the call. */

/** Moves a key out of `Authorization: Bearer` into a header of the provider's own, if the key looks like one that belongs there. */
export interface KeyMove {
  readonly header: string
  /** Only keys with this prefix move. */
  readonly onlyPrefix?: string
  /** Keys with this prefix stay. */
  readonly exceptPrefix?: string
}

/**
 * `key`: a key in `Authorization: Bearer`, perhaps moved. The others name the credential that is used when configuration gives no key;
 * obtaining and applying it is the work of whoever sends the request, last, because signatures cover the final body and headers.
 * A key that is given is placed the same way whatever the type.
 */
export type Credential = (
  | { readonly type: "key" }
  | { readonly type: "aws"; readonly service: "bedrock"; readonly region: string }
  | { readonly type: "gcp" }
  | { readonly type: "azure" }
  | { readonly type: "copilot" }
) & { readonly move?: KeyMove }

/** Header changes that put a credential in its place; header names in lower case. */
export interface CredentialHeaders {
  readonly set: ReadonlyArray<readonly [name: string, value: string]>
  readonly remove: ReadonlyArray<string>
}

const unchanged: CredentialHeaders = { set: [], remove: [] }
const bearer = /^bearer +/i

/**
 * Where the key that stands in `authorization` has to be.
 * `explicit`: configuration itself placed the key in `Authorization`; then it stays there.
 */
export const placeKey = (
  credential: Credential,
  authorization: string | undefined,
  explicit: boolean
): CredentialHeaders => {
  if (credential.move === undefined || authorization === undefined) return unchanged
  const scheme = bearer.exec(authorization)
  if (scheme === null) return unchanged
  const { header, onlyPrefix, exceptPrefix } = credential.move
  const token = authorization.slice(scheme[0].length)
  if (onlyPrefix !== undefined && !token.startsWith(onlyPrefix)) return unchanged
  // Two credentials at once are refused by the provider: whichever does not count is removed.
  if (explicit || (exceptPrefix !== undefined && token.startsWith(exceptPrefix))) return { set: [], remove: [header] }
  return { set: [[header, token]], remove: ["authorization"] }
}
