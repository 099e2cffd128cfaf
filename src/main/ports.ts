/** The adapters behind the ports of policies and terminals, made once for a process and kept across reloads. */
import { Layer } from "effect"
import * as Upstream from "../../layers/http/upstream.ts"

export const ports = Layer.mergeAll(Upstream.layer)
