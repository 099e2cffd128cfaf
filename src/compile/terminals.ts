/**
 * The terminals of backends, made from their configuration and opened with the connections that are in force. One for models has
 * providers, and each of these has policies of its own.
 */
import { Effect, Redacted } from "effect"
import type { ConnectionOptions } from "../pipeline/connection-policy.ts"
import { readingSlots } from "../pipeline/expressions.ts"
import type { AnySlot, ConfigPath } from "../pipeline/stage.ts"
import type { AnyTerminal, CompiledBackend } from "../pipeline/terminal.ts"
import type { sectionAttachments } from "../routing/attach.ts"
import type { BackendLevel, Merging, PolicyAttachment } from "../routing/merge.ts"
import type * as Normalised from "../routing/normalised.ts"
import type { Connection, Connections } from "./connections.ts"
import type { CredentialText } from "./credentials.ts"
import { parted } from "./parted.ts"
import type { Compiling, Problems } from "./problems.ts"

interface CompiledTerminal {
  readonly compiled: CompiledBackend<AnySlot>
  readonly reads: ReadonlyArray<AnySlot>
}

/** One whose connections are opened as policies say. */
export interface OpenedTerminal extends CompiledTerminal {
  readonly connection: Connection
}

interface Opened {
  readonly ofConnection: Normalised.Policies
  readonly credentials: CredentialText | undefined
  /** `undefined`: something about it is wrong. */
  readonly terminal: OpenedTerminal | undefined
}

export class Terminals {
  readonly #terminals: ReadonlyArray<AnyTerminal>
  readonly #connections: Connections
  readonly #merge: Merging
  readonly #problems: Problems
  readonly #ofSection: ReturnType<typeof sectionAttachments>
  readonly #opened = new Map<Normalised.Backend, Array<Opened>>()

  constructor(
    terminals: ReadonlyArray<AnyTerminal>,
    connections: Connections,
    merge: Merging,
    ofSection: ReturnType<typeof sectionAttachments>,
    problems: Problems
  ) {
    this.#ofSection = ofSection
    this.#terminals = terminals
    this.#connections = connections
    this.#merge = merge
    this.#problems = problems
  }

  of({ destination }: Normalised.Backend): AnyTerminal | undefined {
    return this.#terminals.find(({ name }) => name === destination.kind)
  }

  /**
   * A backend is opened once for each way in which its connections are, however many routes lead to it; one that keeps sessions, for
   * each set of credentials besides; one whose providers depend on the route, for each of them.
   * @param shown the credentials that the backend is shown, over connections with these options.
   */
  open(
    terminal: AnyTerminal,
    source: Normalised.Backend,
    attachments: ReadonlyArray<PolicyAttachment<BackendLevel>>,
    ofConnection: Normalised.Policies,
    shown: (connections: ConnectionOptions) => CredentialText | undefined
  ): Compiling<OpenedTerminal | undefined> {
    const credentialsOver = terminal.keepsSessions === true ? shown : () => undefined
    const opened = this.#connections.compile(ofConnection).pipe(
      Effect.flatMap((connection) =>
        Effect.flatMap(this.#configOf(source, terminal, attachments), (config) => {
          const { options } = connection
          const compiling = compileTerminal(terminal, config, source, options, credentialsOver(options))
          return Effect.map(compiling, (compiled) => ({ ...compiled, connection }))
        })
      ),
      (opening) => this.#problems.collect(opening)
    )
    if (source.destination.kind === "ai") return opened
    const known = this.#opened.get(source) ?? []
    this.#opened.set(source, known)
    // What connections are opened by is compared as it is.
    const credentials = credentialsOver({})
    const same = known.find(
      (each) => isSame(each.ofConnection, ofConnection) && areAlike(each.credentials, credentials)
    )
    if (same !== undefined) return Effect.succeed(same.terminal)
    return Effect.map(opened, (terminal) => {
      known.push({ ofConnection, credentials, terminal })
      return terminal
    })
  }

  /** What a terminal is made from. One for models has providers, each with what is in force for it alone. */
  #configOf(
    source: Normalised.Backend,
    { applies = [] }: AnyTerminal,
    attachments: ReadonlyArray<PolicyAttachment<BackendLevel>>
  ): Compiling<unknown> {
    const { destination } = source
    // Their own policies, what the terminal applies of the wider ones, and what is said of connections.
    const shared = attachments.map((attachment) => {
      const [ofConnection, others] = this.#connections.parted(attachment.policies)
      return { ...attachment, policies: { ...parted(others, (name) => applies.includes(name))[0], ...ofConnection } }
    })
    const provided = <E extends { readonly name: string; readonly policies: Normalised.Policies }>(
      endpoints: ReadonlyArray<E>
    ) =>
      Effect.forEach(endpoints, (endpoint) => {
        const all = this.#merge.backend([
          ...shared,
          ...this.#ofSection(source, endpoint.name),
          { level: "provider", key: "", policies: endpoint.policies }
        ])
        const [ofConnection, policies] = this.#connections.parted(all)
        return Effect.map(this.#problems.collect(this.#connections.compile(ofConnection)), (connection) => ({
          ...endpoint,
          policies,
          connections: connection?.options
        }))
      })
    if (destination.kind === "llm")
      return Effect.map(provided(destination.config.models), (models) => ({ ...destination.config, models }))
    if (destination.kind !== "ai") return Effect.succeed(destination.config)
    const groups = Effect.forEach(destination.config.groups, ({ providers }) =>
      Effect.map(provided(providers), (providers) => ({ providers }))
    )
    return Effect.map(groups, (groups) => ({ groups }))
  }
}

/** Where the configuration of a backend stands: under its kind, unless it is a section of the file by itself. */
export const configPath = ({ path, destination }: Normalised.Backend): ConfigPath =>
  path.length === 1 && path[0] === destination.kind ? path : [...path, destination.kind]

/** Whether the same places say the same. */
const isSame = (one: Normalised.Policies, other: Normalised.Policies): boolean => {
  const names = Object.keys(one)
  return names.length === Object.keys(other).length && names.every((name) => one[name] === other[name])
}

const areAlike = (one: CredentialText | undefined, other: CredentialText | undefined): boolean =>
  (one && Redacted.value(one)) === (other && Redacted.value(other))

const compileTerminal = (
  terminal: AnyTerminal,
  config: unknown,
  source: Normalised.Backend,
  connections: ConnectionOptions,
  credentials: CredentialText | undefined
) =>
  Effect.map(
    readingSlots(
      terminal.name,
      terminal.reads,
      terminal.writes,
      terminal.compile(config, configPath(source), source.name, connections, credentials)
    ),
    ([compiled, reads]): CompiledTerminal => ({ compiled, reads })
  )
