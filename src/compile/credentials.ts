/**
 * Which credentials of its own the proxy shows by what is in force, as a text that tells them from others: what is kept for them, as
 * sessions at a server are, is for nobody else.
 */
import { Redacted } from "effect"
import type { PolicySpecs } from "../../spec/standalone/policies.ts"
import { type Hidden, nothingHidden } from "../pipeline/hidden.ts"
import { credentialsIn, revealedText } from "../pipeline/revealed.ts"
import { hiddenOf } from "../routing/hidden.ts"
import type { AttachedPolicy, Normalised, Policies } from "../routing/normalised.ts"
import { shownBy, type UpstreamOptions } from "../services/upstreams.ts"

export type CredentialText = Redacted.Redacted<string>

export class Credentials {
  readonly #specs: PolicySpecs
  readonly #config: Normalised
  #hidden: Hidden | undefined

  constructor(specs: PolicySpecs, config: Normalised) {
    this.#specs = specs
    this.#config = config
  }

  /** `undefined` where there are none. A credential in a file is known by the file: what is in there may be renewed. */
  shown(policies: ReadonlyArray<Policies>, connections: UpstreamOptions): CredentialText | undefined {
    const byPolicies = policies.flatMap((some) => Object.values(some).flatMap((policy) => this.#shownByPolicy(policy)))
    const byConnections = shownBy(connections)
    return byPolicies.length === 0 && byConnections === undefined
      ? undefined
      : Redacted.make(revealedText([byPolicies, byConnections]))
  }

  #shownByPolicy({ name, branches }: AttachedPolicy): ReadonlyArray<unknown> {
    const spec = this.#specs[name]
    // What decides about requests has credentials for others.
    if (spec?.decides !== undefined) return []
    this.#hidden ??= hiddenOf(this.#config, nothingHidden.keys)
    const hidden = this.#hidden
    return branches.flatMap(({ config, condition }) => {
      const shown = spec?.showsCredential?.(config) === true ? [config] : credentialsIn(config, hidden)
      return shown.length === 0 ? [] : [[name, condition?.expression, shown]]
    })
  }
}
