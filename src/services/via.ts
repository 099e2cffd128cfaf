/**
 * What a gateway calls itself in `via` (RFC 9110 7.6.3) where it sends on what its clients named: it knows by that what comes
 * back to it, and what comes from a gateway at all.
 */
const prefix = "headgate-"

/** @param random eight characters that no other process has. */
export const pseudonymOf = (random: string): string => prefix + random

/** Whether a gateway sent it for one of its clients. */
export const isForwarded = (via: string | undefined): boolean => via?.includes(prefix) === true
