/**
 * The vocabulary that stages share: every value that one stage may leave for a later one. Those with the name of an
 * expression variable (`apiKey`, `jwt`) are that variable, so this list and the documented variables cannot drift apart.
 */
import { slot } from "./stage.ts"

/** How long the client waits for response headers, and a single call of the backend, in milliseconds. */
export interface Timeouts {
  /** From the arrival of the request, across everything. */
  readonly request: number | undefined
  /** One call of the backend, up to its response headers. */
  readonly backend: number | undefined
}
export const timeouts = slot<Timeouts>()("timeouts")

/** The largest bodies that later stages may read, in bytes. */
export interface BodyLimits {
  readonly request: number | undefined
  readonly response: number | undefined
}
export const bodyLimits = slot<BodyLimits>()("bodyLimits")

/** Whether the authority for the backend was chosen by a rewrite, so that the backend's own name does not replace it. */
export const authorityRewritten = slot<true>()("authorityRewritten")

/** The metadata of the API key that was presented; `key` is the key itself, redacted. */
export const apiKey = slot<Readonly<Record<string, unknown>>>()("apiKey")

/** The verified claims of the token that was presented; `rawToken` is the token itself, redacted. */
export const jwt = slot<Readonly<Record<string, unknown>>>()("jwt")
