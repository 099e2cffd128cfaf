/**
 * The contract of a listener policy: it has no node, for nothing can be decided yet, but says how connections of clients are taken
 * before anything else is known of them. It yields options.
 */
import type { Schema } from "effect"
import type { Maturity } from "./stage.ts"

/** The header of a balancer that tells whose connection it is. */
export interface ProxyProtocolOptions {
  readonly versions: ReadonlyArray<1 | 2>
  /** Whether a connection without it is closed. */
  readonly required: boolean
}

/** What listener policies say. No two of them say the same thing. */
export interface ListenerOptions {
  readonly proxyProtocol?: ProxyProtocolOptions | undefined
}

export interface ListenerPolicy<
  Name extends string = string,
  // biome-ignore lint/suspicious/noExplicitAny: the bound must admit every policy.
  S extends Schema.Codec<any, any> = any
> {
  /** The key in configuration files. */
  readonly name: Name
  readonly schema: S
  readonly maturity: Maturity
  /** Runs once per configuration. */
  readonly compile: (config: S["Type"]) => ListenerOptions
}

/** Defines a listener policy; infers every type parameter. */
export const listenerPolicy = <
  const Name extends string,
  // biome-ignore lint/suspicious/noExplicitAny: see ListenerPolicy.
  S extends Schema.Codec<any, any>
>(
  definition: ListenerPolicy<Name, S>
): ListenerPolicy<Name, S> => definition
