/** What the configuration makes of the request of a client: members of its body, the model that the provider knows, and prompts. */
import { Exit } from "effect"
import type { Left } from "../../src/policy/terminal.ts"
import type { JsonObject } from "../../src/protocols/llm/formats/json.ts"
import type { Classified } from "./classify.ts"
import type { Exchange } from "./exchange.ts"

export interface Enriched extends Classified {
  /** The model that the provider is asked for. */
  readonly providerModel: string
  /** The body in the client's format, as guards read it and leave it. */
  readonly prompt: JsonObject
}

export const enrich = (x: Exchange, classified: Classified): Left<Enriched> => {
  const { endpoint, json, wanted, clientFormat } = classified
  const changed = endpoint.changes.request?.(json, x) ?? json
  // Configuration that sets the model in the body means the one that is asked for.
  const set = changed["model"]
  const named = typeof set === "string" && set !== json["model"] ? set : (endpoint.providerModel ?? wanted)
  return Exit.succeed({
    ...classified,
    providerModel: endpoint.alias?.(named) ?? named,
    prompt: endpoint.prompts?.(clientFormat)(changed) ?? changed
  })
}
