/**
 * Which headers of a client's request stay with the gateway. A target is a stranger: what a client shows to be let in here
 * would let the target in as well, and, among several, a third party.
 */
import type { slots } from "../../src/policy/policy.ts"

/** Where credentials stand by custom, whatever the configuration looks at. `proxy-authorization` never passes anyway. */
const customary = new Set(["authorization", "cookie", "x-api-key", "api-key", "x-goog-api-key"])

/**
 * The headers without credentials of the client. With several targets none passes. A single target gets those that the
 * configuration preserves; on a route without any authentication, where the target itself decides about the client, it gets
 * all. What the proxy itself shows to the backend stays in: who calls a target takes it out where that has a credential of its own.
 * @param headers flat: name in lower case, value, name, value.
 * @param alone whether the backend is a single remote target.
 * @param own lines that the proxy wrote, in the same form.
 */
export const withoutCredentials = (
  headers: ReadonlyArray<string>,
  authentication: slots.CredentialHeaders | undefined,
  alone: boolean,
  own: ReadonlyArray<string> = []
): ReadonlyArray<string> => {
  if (alone && authentication === undefined) return headers
  const passes = (name: string) =>
    (!customary.has(name) && authentication?.looked.includes(name) !== true) ||
    (alone && authentication?.preserved.includes(name) === true)
  const kept: Array<string> = []
  for (let i = 0; i < headers.length; i += 2)
    if (passes(headers[i]!) && !isOwn(own, headers[i]!)) kept.push(headers[i]!, headers[i + 1]!)
  return own.length === 0 ? kept : [...kept, ...own]
}

const isOwn = (own: ReadonlyArray<string>, name: string): boolean => {
  for (let i = 0; i < own.length; i += 2) if (own[i] === name) return true
  return false
}
