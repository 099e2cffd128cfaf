/** The adapters behind the ports of policies and terminals, made once for a process and kept across reloads. */
import { Layer } from "effect"
import * as Upstream from "../../layers/http/upstream.ts"
import * as Fetch from "../../layers/http-fetch/undici.ts"
import * as KeySets from "../../layers/jwks/live.ts"
import * as Buckets from "../../layers/rate-limits/memory.ts"

/** They report to the log of the process. */
export const ports = Layer.mergeAll(Upstream.layer, Buckets.layer, Layer.provideMerge(KeySets.layer, Fetch.layer))
