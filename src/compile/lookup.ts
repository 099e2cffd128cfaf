/** The backends that routes and references name, services among them whose endpoints somebody else knows: each is one, whoever names it. */
import { Effect } from "effect"
import { type Absent, isAbsent, lookUp, type Named } from "../routing/lookup.ts"
import type * as Normalised from "../routing/normalised.ts"
import { discoveredPort } from "../routing/services.ts"
import { Discovery } from "../services/discovery.ts"

export class Lookup {
  readonly #config: Normalised.Normalised
  readonly #ports = new Map<string, Normalised.Backend>()

  constructor(config: Normalised.Normalised) {
    this.#config = config
  }

  find(named: Named): Effect.Effect<Normalised.Backend | Absent> {
    const { service } = named
    if (service === undefined) return Effect.succeed(lookUp(this.#config, named))
    const { name, port } = service
    const key = `${name}:${port}`
    const known = this.#ports.get(key)
    if (known !== undefined) return Effect.succeed(known)
    return Effect.map(Discovery, ({ find }) => {
      const source = find(name, port) === undefined ? lookUp(this.#config, named) : discoveredPort(name, port)
      if (!isAbsent(source)) this.#ports.set(key, source)
      return source
    })
  }
}
