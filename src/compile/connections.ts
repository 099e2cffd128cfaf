/** What the connection policies in force at a backend come to. A policy that is in force at many backends is compiled once. */
import { Effect, Result } from "effect"
import type { ConnectionOptions, ConnectionPolicy } from "../pipeline/connection-policy.ts"
import type { ConnectionInForce } from "../pipeline/route.ts"
import type { ConfigProblem } from "../pipeline/stage.ts"
import type { AttachedPolicy, Policies } from "../routing/normalised.ts"
import { parted } from "./parted.ts"
import type { Compiling } from "./problems.ts"

/** How connections to one backend are opened, and by which policies. */
export interface Connection {
  readonly options: ConnectionOptions
  readonly inForce: ReadonlyArray<ConnectionInForce>
}

type Compiled = Result.Result<ConnectionOptions, ReadonlyArray<ConfigProblem>>

export class Connections {
  readonly #policies: ReadonlyArray<ConnectionPolicy>
  readonly #compiled = new Map<AttachedPolicy, Compiled>()

  constructor(policies: ReadonlyArray<ConnectionPolicy>) {
    this.#policies = policies
  }

  /** The connection policies among these, and the others. */
  parted(policies: Policies): readonly [connection: Policies, others: Policies] {
    return parted(policies, (name) => this.#policies.some((policy) => policy.name === name))
  }

  /** @param policies connection policies. Problems carry whole paths. */
  compile(policies: Policies): Compiling<Connection> {
    return Effect.gen({ self: this }, function* () {
      const problems: Array<ConfigProblem> = []
      const inForce: Array<ConnectionInForce> = []
      let options: ConnectionOptions = {}
      // In the order of the list, whatever the order of the file.
      for (const policy of this.#policies) {
        const attached = policies[policy.name]
        if (attached === undefined) continue
        const compiled = yield* this.#one(policy, attached)
        if (Result.isFailure(compiled)) problems.push(...compiled.failure)
        else options = { ...options, ...compiled.success }
        const { config, path } = onlyBranch(attached)
        inForce.push({ policy: policy.name, path, config })
      }
      return problems.length > 0 ? yield* Effect.fail(problems) : { options, inForce }
    })
  }

  #one(policy: ConnectionPolicy, attached: AttachedPolicy): Compiling<Compiled> {
    const known = this.#compiled.get(attached)
    if (known !== undefined) return Effect.succeed(known)
    const { config, path } = onlyBranch(attached)
    const placed = Effect.mapError(policy.compile(config, path), (problems) =>
      problems.map((problem) => ({ ...problem, path: [...path, ...problem.path] }))
    )
    return Effect.map(Effect.result(placed), (compiled) => {
      this.#compiled.set(attached, compiled)
      return compiled
    })
  }
}

/** The language lets no connection policy depend on requests: connections are there before them. */
const onlyBranch = ({ branches }: AttachedPolicy) => branches[0]!
