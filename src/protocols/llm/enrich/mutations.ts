/** Request fields that configuration sets, computes or fills in. */
import { type JsonObject, withMember, withoutMembers } from "../formats/json.ts"

/** A computed field and its value; `undefined` (also: the expression failed) removes the field. */
export type Computed = readonly [field: string, value: unknown]

/** `transformations`, `overrides` and `defaults` of a policy or model, expressions evaluated. */
export interface Mutations {
  /** Values by field of the `transformations`, all evaluated on the body before any of this. */
  readonly computed: ReadonlyArray<Computed>
  /** Always set. A computed value of the same field comes later and wins. */
  readonly overrides: ReadonlyMap<string, unknown>
  /** Set where the field is missing in the end. */
  readonly defaults: ReadonlyMap<string, unknown>
}

/** Writes computed values; what is equal already leaves the body the same object. Also the whole of final transformations. */
export const applyComputed = (body: JsonObject, computed: ReadonlyArray<Computed>): JsonObject => {
  let changed = body
  for (const [field, value] of computed) {
    if (value === undefined) changed = withoutMembers(changed, field)
    else if (changed[field] !== value || !Object.hasOwn(changed, field)) changed = withMember(changed, field, value)
  }
  return changed
}

/** Overrides, then computed values, then defaults. The same body when nothing changes. */
export const applyMutations = (body: JsonObject, { computed, overrides, defaults }: Mutations): JsonObject => {
  let changed = applyComputed(applyComputed(body, [...overrides]), computed)
  for (const [field, value] of defaults) if (!Object.hasOwn(changed, field)) changed = withMember(changed, field, value)
  return changed
}
