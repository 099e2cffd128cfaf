/** Models and their providers as everybody has them but the file: what reading it yields, and what the terminals for models are made from. */
import type { Path } from "./config/path.ts"
import type { HeaderMatch } from "./header.ts"
import type { MockParams, presetProviders } from "./standalone/llm.ts"
import type { AiProvider } from "./standalone/provider.ts"
import type { Address } from "./target.ts"

/** A provider of a model: a known one, or one with a preset address and formats, or the mock. */
export type Provider =
  | AiProvider
  | {
      readonly kind: "preset"
      readonly config: { readonly name: (typeof presetProviders)[number]; readonly model?: string }
    }
  | { readonly kind: "mock"; readonly config: MockParams & { readonly model?: string } }

/** Where a provider is asked, when not at its usual address. */
export interface ProviderOverrides {
  readonly hostOverride: Address | undefined
  readonly pathOverride: string | undefined
  readonly pathPrefix: string | undefined
  readonly tokenize: boolean
}

/** A provider, and everything that holds for its calls. */
export interface Endpoint<Policies> extends ProviderOverrides {
  readonly name: string
  readonly provider: Provider
  /** Those of the model, and those of its provider where the model has none. */
  readonly policies: Policies
  readonly path: Path
}

/** A model that clients, or virtual models, may ask for. Its name: exact, `prefix*`, `*suffix`, or `*`. */
export interface Model<Policies> extends Endpoint<Policies> {
  /** Internal models are for virtual models only. */
  readonly visibility: "public" | "internal"
  /** Conditions on the request; empty for none, else one entry is enough. */
  readonly matches: ReadonlyArray<{ readonly headers?: ReadonlyArray<typeof HeaderMatch.Type> }>
  /** How unknown paths are passed on. */
  readonly passthrough: "detect" | "opaque" | undefined
}

/** A name that leads to one of several models. Every target matches some model. */
export interface VirtualModel {
  readonly name: string
  readonly routing:
    | {
        readonly kind: "weighted"
        readonly targets: ReadonlyArray<{ readonly model: string; readonly weight: number }>
      }
    | {
        readonly kind: "failover"
        readonly targets: ReadonlyArray<{ readonly model: string; readonly priority: number }>
      }
    | {
        readonly kind: "conditional"
        readonly targets: ReadonlyArray<{ readonly model: string; readonly when: string | undefined }>
      }
  readonly path: Path
}
