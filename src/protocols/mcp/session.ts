/** One session: its links to targets, its listening stream, and who may use it. */

import type { McpStdio, McpStdioOwner } from "../../services/mcp-stdio.ts"
import type { TargetFailure } from "../../services/mcp-transport.ts"
import type { LinkHost, Outlet } from "./call.ts"
import type { Ledger } from "./call-record.ts"
import type { McpBackendConfig, McpTarget } from "./config.ts"
import type { McpClock, McpWarning } from "./contract.ts"
import { networkOf } from "./crowd.ts"
import { linkFailure } from "./errors.ts"
import { handshake } from "./handshake.ts"
import type { McpHttpServer } from "./http/contract.ts"
import type { Naming } from "./names.ts"
import { openApiTransport } from "./openapi-transport.ts"
import { Ownership } from "./ownership.ts"
import type { Pulse } from "./pulse.ts"
import type { SessionBinding } from "./session-id.ts"
import { TargetLink } from "./target-link.ts"

/** How the gateway names itself to clients and targets. */
export interface Product {
  readonly name: string
  readonly title: string
  readonly version: string
}

/** Who begins a session, or asks for one: where and for whom it is valid, and from where the caller calls. */
export interface Caller extends SessionBinding {
  readonly address: string
}

/** What all sessions of a backend share. */
export interface Backend {
  readonly config: McpBackendConfig
  readonly naming: Naming
  readonly product: Product
  readonly stdio: McpStdio["Service"]
  /** The servers of targets behind HTTP, by the names of the targets. */
  readonly servers: ReadonlyMap<string, McpHttpServer>
  readonly clock: McpClock
  readonly pulse: Pulse
  readonly warn: (warning: McpWarning) => void
}

/**
 * `session`: began with the client's `initialize`, lives on. `stateless`: one request, with a handshake made by the
 * gateway. `modern`: one request of a protocol without handshake.
 */
export type SessionKind = "session" | "stateless" | "modern"

/** The handshake that the gateway makes in the client's stead. */
export interface Introduction {
  readonly version: string
  readonly headers: ReadonlyArray<string>
  readonly ledger: Ledger
}

/** A stream of the client that belongs to no request. */
export interface ListeningStream extends Outlet {
  readonly close: () => void
}

const maxBacklog = 64

/** Opens links when they are first needed, and closes them together. */
export class Session implements LinkHost {
  /** Empty until the handshake is over, and for sessions of one request. */
  id = ""
  /** Negotiated protocol version, where known. */
  version: string | undefined
  lastUsed: number
  ended = false
  /** The handshake succeeded: the session gets its id and is kept. */
  onBegun: () => void = () => {}
  onEnded: () => void = () => {}
  /** Its client sent something after the handshake: it means to use the session. */
  onUsed: () => void = () => {}
  readonly binding: Caller
  readonly kind: SessionKind
  readonly naming: Naming
  readonly ownership = new Ownership()
  readonly requests: LinkHost["requests"]
  readonly closingCancels: boolean
  readonly pendingRequests: number
  readonly after: LinkHost["after"]
  readonly #backend: Backend
  readonly #targets: ReadonlyArray<McpTarget>
  readonly #links = new Map<string, TargetLink>()
  readonly #resumed: ReadonlyMap<string, string | undefined> | undefined
  readonly #introduction: Introduction | undefined
  readonly #streams = new Set<ListeningStream>()
  #listener: Outlet | undefined
  #backlog: Array<string> = []

  /** `resumed`: the targets with their own session ids, of a session that was begun before. */
  constructor(
    backend: Backend,
    kind: SessionKind,
    binding: Caller,
    introduction: Introduction | undefined,
    resumed: ReadonlyMap<string, string | undefined> | undefined
  ) {
    this.#backend = backend
    this.#introduction = introduction
    this.#resumed = resumed
    this.#targets =
      resumed === undefined ? backend.config.targets : backend.config.targets.filter(({ name }) => resumed.has(name))
    this.kind = kind
    this.binding = binding
    this.naming = backend.naming
    this.pendingRequests = backend.config.limits.pendingRequests
    this.after = backend.clock.after
    this.requests = kind === "session" ? "routed" : kind === "modern" ? "refused" : "answered"
    this.closingCancels = kind === "modern"
    this.lastUsed = backend.clock.now()
  }

  /** The name of the first target. Asking for it opens nothing. */
  get firstTarget(): string | undefined {
    return this.#targets[0]?.name
  }

  /** Whether there is a target of that name. Asking opens nothing. */
  serves(name: string): boolean {
    return this.#targets.some((target) => target.name === name)
  }

  /** Links of all targets in the order of the configuration; those that are not open yet are opened. */
  links(): ReadonlyArray<TargetLink> {
    return this.#targets.map((target) => this.#linkOf(target))
  }

  /** The link of a target by name; `undefined` for a name that is none. */
  link(name: string): TargetLink | undefined {
    const open = this.#links.get(name)
    if (open !== undefined) return open
    const target = this.#targets.find((target) => target.name === name)
    return target && this.#linkOf(target)
  }

  /** Somebody waits for something: such a session is not idle, however long it takes. */
  get busy(): boolean {
    if (this.#streams.size > 0) return true
    for (const link of this.#links.values()) if (link.awaited) return true
    return false
  }

  /** The targets with their own session ids; those that never came up are not part of the session. */
  get members(): ReadonlyArray<{ readonly name: string; readonly session: string | undefined }> {
    return [...this.#links.values()]
      .filter((link) => link.dead === undefined)
      .map((link) => ({ name: link.target.name, session: link.sessionId }))
  }

  /** Can any other process go on with it? Not with a target that is a child of this one. */
  get portable(): boolean {
    return this.#targets.every(
      (target) => target.kind === "openapi" || (target.kind === "http" && target.dialogue.protocol === "streamable")
    )
  }

  listener(): Outlet | undefined {
    return this.#listener
  }

  /** A listening stream lives no longer than the session. */
  attach(stream: ListeningStream): void {
    this.#streams.add(stream)
  }

  detach(stream: ListeningStream): void {
    this.#streams.delete(stream)
    if (this.#listener === stream) this.#listener = undefined
  }

  /** The newest listening stream takes what belongs to no call, and what has come so far. */
  listen(outlet: ListeningStream): void {
    this.#listener = outlet
    const backlog = this.#backlog
    this.#backlog = []
    for (const text of backlog) outlet.message(text, undefined)
  }

  keep(text: string): void {
    if (this.#backlog.length >= maxBacklog) this.#backlog.shift()
    this.#backlog.push(text)
  }

  listChanged(method: string): void {
    this.ownership.forget(method)
  }

  warn(target: string, message: string): void {
    this.#backend.warn({ backend: this.#backend.config.name, target, message })
  }

  /** Cancels what is unanswered of requests whose time is up. All targets are told before anybody draws conclusions. */
  expire(): void {
    const late = [...this.#links.values()].flatMap((link) => link.withdrawLate())
    for (const { call, failure } of late) call.out.failed(failure)
  }

  /** A session without a living target is over: its client begins a new one. */
  died(): void {
    if (this.#links.size === this.#targets.length && [...this.#links.values()].every((link) => link.dead !== undefined))
      this.end(undefined)
  }

  /** With headers, the sessions at the targets are ended as well. `why` is told to whoever still waits. */
  end(farewell: ReadonlyArray<string> | undefined, why: TargetFailure = linkFailure.closed): void {
    if (this.ended) return
    this.ended = true
    for (const link of this.#links.values()) link.close(farewell, why)
    for (const stream of [...this.#streams]) stream.close()
    this.onEnded()
  }

  #linkOf(target: McpTarget): TargetLink {
    const known = this.#links.get(target.name)
    if (known !== undefined) return known
    const { stdio, servers } = this.#backend
    const link = new TargetLink(this, target, (events) => {
      if (this.ended) return linkFailure.sessionOver
      switch (target.kind) {
        case "stdio":
          return stdio.open(target.command, this.#ownerOf(target), events)
        case "http":
          return servers.get(target.name)!.open(target.dialogue, this.#resumed?.get(target.name), events)
        case "openapi":
          return openApiTransport(servers.get(target.name)!, target, events)
      }
    })
    this.#links.set(target.name, link)
    if (this.#introduction !== undefined && link.dead === undefined)
      handshake(link, this.#introduction, this.#backend.product)
    return link
  }

  /** Whose child it is: what counts for the bounds on children. */
  #ownerOf({ name }: McpTarget): McpStdioOwner {
    const { backend, name: backendName, limits, targets } = this.#backend.config
    const children = targets.filter(({ kind }) => kind === "stdio").length
    return {
      backend,
      backendName,
      target: name,
      principal: this.binding.principal,
      network: networkOf(this.binding.address),
      most: limits.children,
      // As many as the sessions that the network may hold.
      mostOfNetwork: limits.sessionsPerAddress * children
    }
  }
}
