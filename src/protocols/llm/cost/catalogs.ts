/** The cost catalogue in force, as the model router asks for it: exchanged as a whole when a source changes. */
import { Context } from "effect"
import type { Catalog } from "./catalog.ts"

export class Catalogs extends Context.Service<
  Catalogs,
  {
    /** `undefined` when none is configured. */
    readonly current: () => Catalog | undefined
  }
>()("headgate/protocols/llm/cost/Catalogs") {}
