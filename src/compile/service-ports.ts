/** The ports of services that routes and references lead to: each is one backend, whoever knows its endpoints. */
import { Effect } from "effect"
import type * as Normalised from "../routing/normalised.ts"
import { discoveredPort, servicePort } from "../routing/services.ts"
import { Discovery } from "../services/discovery.ts"

export class ServicePorts {
  readonly #config: Normalised.Normalised
  readonly #known = new Map<string, Normalised.Backend>()

  constructor(config: Normalised.Normalised) {
    this.#config = config
  }

  /** @param name `<namespace>/<hostname>`. */
  find(name: string, port: number): Effect.Effect<Normalised.Backend | undefined> {
    const key = `${name}:${port}`
    const known = this.#known.get(key)
    if (known !== undefined) return Effect.succeed(known)
    return Effect.map(Discovery, ({ find }) => {
      const source = find(name, port) === undefined ? servicePort(this.#config, name, port) : discoveredPort(name, port)
      if (source !== undefined) this.#known.set(key, source)
      return source
    })
  }
}
