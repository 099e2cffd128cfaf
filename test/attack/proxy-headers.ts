/**
 * Headers of the PROXY protocol, written well and badly, cut and mutated, read by the listener and by another reader. Both come to
 * the same client, and what is known from some of the bytes does not change with the next ones.
 */
import { drawn, faultOf } from "../tcp/proxy-headers.ts"
import { batches } from "./messages.ts"

export const proxyHeaders = batches({
  name: "PROXY headers",
  proves: "the header of a balancer is read as another reader reads it, or refused, however many packets it comes in",
  of: "headers",
  drawn: ({ below }) => drawn(below),
  pieces: (bytes) => [bytes],
  faultOf
})
