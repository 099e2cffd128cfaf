/**
 * Port: the public keys of token issuers. A key set is opened once per configuration; one that two configurations share
 * outlives a reload, and is kept fresh in the background.
 */
import { Context, Data, type Effect, type Scope } from "effect"
import type { DocumentCall } from "./documents.ts"

/** Whether a signature fits what was signed: the first two parts of a token, in ASCII. */
export type SignatureCheck = (signed: string, signature: Uint8Array) => boolean

/** A public key, together with the only ways in which it may be used. */
export interface VerificationKey {
  /** The `kid`. */
  readonly id: string
  /** By name of the algorithm, as `RS256`. What a token names beyond these has no check, so it cannot be believed. */
  readonly checks: ReadonlyMap<string, SignatureCheck>
}

/** The keys of a set by `kid`. Never changes: a set that was loaded anew is another map. */
export type Keys = ReadonlyMap<string, VerificationKey>

/** A key set that was opened. */
export interface KeySet {
  /** The keys in force. `undefined` until they were loaded for the first time. */
  readonly current: () => Keys | undefined
  /**
   * Loads the set now, unless that was tried a short time ago; ends when the attempt has, or after two seconds, whichever
   * comes first. An attempt that is under way is joined. Afterwards `current` tells what came of it so far.
   */
  readonly refresh: Effect.Effect<void>
}

/** The set itself as JSON text (RFC 7517 5), a file that holds it, or the address where the issuer publishes it. */
export type KeySource =
  | string
  | { readonly file: string }
  | { readonly url: string; readonly call?: DocumentCall | undefined }

/** A set that the configuration holds, or names as a file, cannot be used. */
export class KeySetUnusable extends Data.TaggedError("KeySetUnusable")<{ readonly detail: string }> {
  override get message() {
    return this.detail
  }
}

/** Key sets, as a service. One that is opened is shared by all who open the same, and closes with the configuration. */
export class Jwks extends Context.Service<
  Jwks,
  {
    /** Does not wait for a remote set: until it is there, `current` yields `undefined`. */
    readonly open: (source: KeySource) => Effect.Effect<KeySet, KeySetUnusable, Scope.Scope>
  }
>()("headgate/services/Jwks") {}
