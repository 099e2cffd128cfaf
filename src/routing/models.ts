/** The `llm` section in its normalised form: models with everything that holds for each of them, and virtual models. */
import type { Path } from "../../spec/config/path.ts"
import type { HeaderMatch } from "../../spec/header.ts"
import type { MockParams, presetProviders } from "../../spec/standalone/llm.ts"
import type { AiProvider } from "../../spec/standalone/provider.ts"
import type { Policies, ProviderOverrides } from "./normalised.ts"

/** The models behind one port or route. */
export interface ModelGateway {
  /** In the order of the file; the most specific name that matches counts. */
  readonly models: ReadonlyArray<Model>
  readonly virtualModels: ReadonlyArray<VirtualModel>
}

/** A provider of a model: a known one, or one with a preset address and formats. */
export type Provider =
  | AiProvider
  | {
      readonly kind: "preset"
      readonly config: { readonly name: (typeof presetProviders)[number]; readonly model?: string }
    }
  | { readonly kind: "mock"; readonly config: MockParams & { readonly model?: string } }

/** A model that clients, or virtual models, may ask for. */
export interface Model extends ProviderOverrides {
  /** `llm:model:<id>`, or `llm:model:<name>:<index>`. */
  readonly key: string
  /** Exact, `prefix*`, `*suffix`, or `*`. */
  readonly name: string
  /** Internal models are for virtual models only. */
  readonly visibility: "public" | "internal"
  readonly provider: Provider
  /** Conditions on the request; empty for none, else one entry is enough. */
  readonly matches: ReadonlyArray<{ readonly headers?: ReadonlyArray<typeof HeaderMatch.Type> }>
  /** How unknown paths are passed on. */
  readonly passthrough: "detect" | "opaque" | undefined
  /** Policies of the calls of the provider: those of the model, and those of its provider where the model has none. */
  readonly policies: Policies
  readonly path: Path
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

/** Whether a name of a client falls under the name of a model. */
export const matchesModel = (pattern: string, name: string): boolean => {
  const star = pattern.indexOf("*")
  if (star === -1) return pattern === name
  const prefix = pattern.slice(0, star)
  const suffix = pattern.slice(star + 1)
  return name.length >= prefix.length + suffix.length && name.startsWith(prefix) && name.endsWith(suffix)
}
