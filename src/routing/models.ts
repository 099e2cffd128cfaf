/** The `llm` section in its normalised form: models with everything that holds for each of them, and virtual models. */
import type * as models from "../../spec/models.ts"
import type { Policies } from "./normalised.ts"

export type { Provider, VirtualModel } from "../../spec/models.ts"

/** The models behind one port or route. */
export interface ModelGateway {
  /** In the order of the file; the most specific name that matches counts. */
  readonly models: ReadonlyArray<Model>
  readonly virtualModels: ReadonlyArray<models.VirtualModel>
}

/** A model of the section. */
export interface Model extends models.Model<Policies> {
  /** `llm:model:<id>`, or `llm:model:<name>:<index>`. */
  readonly key: string
}

/** Whether a name of a client falls under the name of a model. */
export const matchesModel = (pattern: string, name: string): boolean => {
  const star = pattern.indexOf("*")
  if (star === -1) return pattern === name
  const prefix = pattern.slice(0, star)
  const suffix = pattern.slice(star + 1)
  return name.length >= prefix.length + suffix.length && name.startsWith(prefix) && name.endsWith(suffix)
}
