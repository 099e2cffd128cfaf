/** What configurations are compiled with: everything that they may name, and what that needs. */
import type { PolicySpecs } from "../../spec/standalone/policies.ts"
import type { ConnectionPolicy } from "../pipeline/connection-policy.ts"
import type { ListenerPolicy } from "../pipeline/listener-policy.ts"
import type { Registry } from "../pipeline/registry.ts"
import type { AnyTerminal } from "../pipeline/terminal.ts"
import type { Available, Part } from "../routing/unavailable.ts"
import type { Random } from "../routing/weights.ts"
import type { CompileCondition } from "./sites.ts"

export interface Parts<R extends Registry> {
  readonly registry: R
  /** What the policies of a file say of themselves. */
  readonly specs: PolicySpecs
  readonly terminals: ReadonlyArray<AnyTerminal>
  readonly connections: ReadonlyArray<ConnectionPolicy>
  readonly listeners: ReadonlyArray<ListenerPolicy>
  readonly compileCondition: CompileCondition
  readonly random: Random
}

/** What is neither a policy of the registry nor a terminal, and the parts that nothing here reads, are refused: never ignored. */
export const availableIn = ({ registry, terminals, connections, listeners }: Parts<Registry>): Available => ({
  // What a terminal applies at its own backends is refused at all others when these are compiled.
  policies: new Set([
    ...[...registry.policies, ...connections, ...listeners].map(({ name }) => name),
    ...terminals.flatMap(({ applies = [] }) => applies)
  ]),
  backends: new Set(terminals.map(({ name }) => name)),
  parts: new Set<Part>(["routeGroups", "tcpRoutes", "tls"])
})
