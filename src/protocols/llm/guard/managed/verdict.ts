/** What the managed guards of cloud providers have in common: a JSON call over TLS, and a verdict on the texts that were sent. */

/** One POST with a JSON body. Credentials and, for AWS, the signature are added by whoever sends it. */
export interface GuardCall {
  readonly host: string
  readonly path: string
  readonly body: string
}

/** `mask`: the texts that were sent, in the same order, as they may go on. */
export type ManagedVerdict =
  | { readonly type: "pass" }
  | { readonly type: "mask"; readonly texts: ReadonlyArray<string> }
  | { readonly type: "reject" }
  | { readonly type: "failed" }

export const passed: ManagedVerdict = { type: "pass" }
export const rejected: ManagedVerdict = { type: "reject" }
export const failed: ManagedVerdict = { type: "failed" }

/** Milliseconds a call may take unless the guard's policies say otherwise. */
export const managedGuardTimeout = 10_000

/** A status that a verdict can come with. Anything else is a failure of the guard, not an opinion. */
export const isSuccess = (status: number): boolean => status >= 200 && status < 300
