/** The sessions of one backend: found by id, resumed from their id alone, forgotten when nobody uses them. */
import type { Crowd } from "./crowd.ts"
import { type McpFailure, tooManySessions } from "./errors.ts"
import type { Beating } from "./pulse.ts"
import { type Backend, type Caller, type Introduction, Session, type SessionKind } from "./session.ts"
import { maxIdChars, type SessionBinding, type SessionIds } from "./session-id.ts"

const sweepMillis = 30_000
const maxEnded = 10_000
/** A client that goes on says so at once: it confirms the handshake. Milliseconds that one without a principal has for it. */
const unusedMillis = 5_000

/** Sessions by id. */
export class Sessions implements Beating {
  readonly #backend: Backend
  readonly #ids: SessionIds
  readonly #owner: string
  readonly #crowd: Crowd
  readonly #sessions = new Map<string, Session>()
  /** Ids that were ended: their text alone would bring them back. Kept for as long as a session may be idle. */
  readonly #ended = new Map<string, number>()
  #sweptAt: number

  /** `owner` names this process among those that share the key. */
  constructor(backend: Backend, ids: SessionIds, owner: string, crowd: Crowd) {
    this.#backend = backend
    this.#crowd = crowd
    this.#ids = ids
    this.#owner = owner
    this.#sweptAt = backend.clock.now()
  }

  get size(): number {
    return this.#sessions.size
  }

  get full(): boolean {
    return this.#sessions.size >= this.#backend.config.limits.sessions
  }

  /** A session that is kept nowhere: for one request, or for as long as its owner wants. */
  single(kind: SessionKind, binding: Caller, introduction: Introduction | undefined): Session {
    return new Session(this.#backend, kind, binding, introduction, undefined)
  }

  /** A session to be, unless there are too many: it counts from now on, and is kept from the end of its handshake on. */
  fresh(binding: Caller): Session | McpFailure {
    const { sessions, sessionsPerAddress } = this.#backend.config.limits
    if (this.full) return tooManySessions.ofBackend(sessions)
    const session = new Session(this.#backend, "session", binding, undefined, undefined)
    const leave = this.#crowd.enter(binding, session, this.#backend.clock.now())
    if (leave === undefined) return tooManySessions.ofAddress(sessionsPerAddress)
    session.onEnded = leave
    session.onBegun = () => {
      this.#keep(session, this.#idOf(session), leave)
      if (binding.principal === "") this.#endUnused(session)
    }
    return session
  }

  /** Nobody may hold children or memory for as long as a session lives by beginning it and doing nothing else. */
  #endUnused(session: Session): void {
    const cancel = this.#backend.clock.after(unusedMillis, () => session.end(undefined))
    const { onEnded } = session
    session.onUsed = cancel
    session.onEnded = () => {
      cancel()
      onEnded()
    }
  }

  /** `undefined` for an id that is none, not any more, or not for this caller: the caller must not know which. */
  find(id: string, binding: Caller): Session | undefined {
    const now = this.#backend.clock.now()
    const known = this.#sessions.get(id)
    if (known !== undefined && this.#expired(known, now)) known.end(undefined)
    const session = this.#sessions.get(id) ?? this.#resume(id, binding)
    if (session === undefined || !isSame(session.binding, binding)) return undefined
    session.lastUsed = now
    session.onUsed()
    return session
  }

  /** The process that holds the session, if only that one can serve it and it is another one. */
  ownerOf(id: string, binding: SessionBinding): string | undefined {
    if (this.#sessions.has(id)) return undefined
    const state = this.#ids.decode(id, binding)
    return state === undefined || state.targets !== undefined || state.owner === this.#owner ? undefined : state.owner
  }

  beat(now: number): void {
    if (now - this.#sweptAt < sweepMillis) return
    this.#sweptAt = now
    const ttl = this.#backend.config.sessionTtlMillis
    for (const session of [...this.#sessions.values()])
      if (session.busy) session.lastUsed = now
      else if (this.#expired(session, now)) session.end(undefined)
    for (const [id, at] of this.#ended) if (now - at >= ttl) this.#ended.delete(id)
  }

  close(): void {
    for (const session of [...this.#sessions.values()]) session.end(undefined)
    this.#backend.pulse.delete(this)
  }

  #expired(session: Session, now: number): boolean {
    return now - session.lastUsed >= this.#backend.config.sessionTtlMillis && !session.busy
  }

  #idOf(session: Session): string {
    const version = session.version
    const local = { targets: undefined, owner: this.#owner, version }
    if (!session.portable) return this.#ids.encode(local, session.binding)
    const id = this.#ids.encode({ ...local, targets: session.members }, session.binding)
    return id.length <= maxIdChars ? id : this.#ids.encode(local, session.binding)
  }

  #keep(session: Session, id: string, leave: () => void): void {
    session.id = id
    if (this.#sessions.size === 0) this.#backend.pulse.add(this)
    this.#sessions.set(id, session)
    session.onEnded = () => {
      leave()
      this.#sessions.delete(id)
      if (this.#sessions.size === 0) this.#backend.pulse.delete(this)
    }
  }

  /** Makes the id worthless, here and for as long as this process remembers. */
  forget(session: Session): void {
    if (this.#ended.size >= maxEnded)
      for (const oldest of this.#ended.keys()) {
        this.#ended.delete(oldest)
        break
      }
    this.#ended.set(session.id, this.#backend.clock.now())
  }

  #resume(id: string, binding: Caller): Session | undefined {
    if (this.#ended.has(id) || this.full) return undefined
    const state = this.#ids.decode(id, binding)
    if (state?.targets === undefined) return undefined
    const { targets, failureMode } = this.#backend.config
    const known = new Map(state.targets.map(({ name, session }) => [name, session]))
    const complete = failureMode === "failOpen" || known.size === targets.length
    // The targets of a session are those it began with: after a change of the configuration it is another backend.
    if (known.size !== state.targets.length || !complete) return undefined
    for (const name of known.keys()) if (!targets.some((target) => target.name === name)) return undefined
    const session = new Session(this.#backend, "session", binding, undefined, known)
    const leave = this.#crowd.enter(binding, session, this.#backend.clock.now())
    if (leave === undefined) return undefined
    session.version = state.version
    this.#keep(session, id, leave)
    return session
  }
}

const isSame = (a: SessionBinding, b: SessionBinding): boolean =>
  a.principal === b.principal && a.listener === b.listener && a.backend === b.backend
