/**
 * The users of one list, and what is remembered of the credentials that they showed: whose they are, or that they are
 * nobody's. Credentials themselves are not kept, but digests of them under a key that never leaves the process.
 */
import { Buffer } from "node:buffer"
import { hash, randomBytes } from "node:crypto"
import { Effect, Exit } from "effect"
import { PasswordsBusy, type PasswordUser, type PasswordUsers } from "../../src/services/passwords.ts"

/**
 * Checks a password against a hash, at some time; `undefined`: that was not to be.
 * @returns how to leave before the answer.
 */
export type Check = (password: string, hash: string, answer: (matches: boolean | undefined) => void) => () => void

/** The longest credential that is looked at, in characters. Some hashes take longer for long passwords. */
const longest = 1024

/** Credentials that are remembered in one generation, of users and of nobody each. */
const capacity = 4096

type Known = PasswordUser | false

/** Two generations: the older one is dropped when the younger is full, so that what is found writes nothing. */
class Memory {
  #young = new Map<string, Known>()
  #old = new Map<string, Known>()

  get(digest: string): Known | undefined {
    const known = this.#young.get(digest)
    if (known !== undefined) return known
    const older = this.#old.get(digest)
    if (older !== undefined) this.set(digest, older)
    return older
  }

  set(digest: string, known: Known): void {
    if (this.#young.size >= capacity) {
      this.#old = this.#young
      this.#young = new Map()
    }
    this.#young.set(digest, known)
  }
}

/** A credential that is being checked, for everybody who has shown it meanwhile. */
interface Open {
  readonly waiting: Set<(known: Known | undefined) => void>
  leave: () => void
}

const busy = Exit.fail(new PasswordsBusy())
const nobody = Exit.succeed(false as const)

export class Users implements PasswordUsers {
  readonly #hashes: ReadonlyMap<string, string>
  readonly #all: ReadonlyArray<string>
  readonly #check: Check
  readonly #key = randomBytes(32).toString("latin1")
  // Apart, so that nobody who guesses makes those forgotten who know.
  readonly #users = new Memory()
  readonly #nobodies = new Memory()
  readonly #open = new Map<string, Open>()

  constructor(hashes: ReadonlyMap<string, string>, check: Check) {
    this.#hashes = hashes
    this.#all = [...hashes.values()]
    this.#check = check
  }

  known(credential: string): Known | undefined {
    if (credential.length > longest) return false
    const digest = this.#digest(credential)
    return this.#users.get(digest) ?? this.#nobodies.get(digest)
  }

  check(credential: string): Effect.Effect<Known, PasswordsBusy> {
    const shown = decoded(credential)
    if (shown === undefined || this.#all.length === 0) return nobody
    return Effect.callback((resume) => {
      const answer = (known: Known | undefined) => resume(known === undefined ? busy : Exit.succeed(known))
      const digest = this.#digest(credential)
      const open = this.#open.get(digest) ?? this.#begin(digest, shown.name, shown.password)
      // Where it was known at once, nothing is open any more.
      if (open === undefined) return answer(this.#users.get(digest) ?? this.#nobodies.get(digest))
      open.waiting.add(answer)
      return Effect.sync(() => {
        open.waiting.delete(answer)
        if (open.waiting.size > 0 || this.#open.get(digest) !== open) return
        this.#open.delete(digest)
        open.leave()
      })
    })
  }

  #begin(digest: string, username: string, password: string): Open | undefined {
    const own = this.#hashes.get(username)
    const open: Open = { waiting: new Set(), leave: () => {} }
    this.#open.set(digest, open)
    // A name that nobody has is checked against a hash of somebody, always the same, so that it takes as long as any.
    const leave = this.#check(password, own ?? this.#somebodys(username), (matches) => {
      if (this.#open.get(digest) === open) this.#open.delete(digest)
      const known = matches === undefined ? undefined : own !== undefined && matches && { username }
      if (known !== undefined) (known === false ? this.#nobodies : this.#users).set(digest, known)
      for (const answer of open.waiting) answer(known)
    })
    open.leave = leave
    return this.#open.get(digest) === open ? open : undefined
  }

  #somebodys(username: string): string {
    return this.#all[Buffer.from(this.#digest(username), "base64").readUInt32LE(0) % this.#all.length]!
  }

  #digest(text: string): string {
    return hash("sha256", this.#key + text, "base64")
  }
}

const base64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/
const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true })

/** Name and password of a credential; `undefined` if it is none (RFC 7617 2). */
const decoded = (credential: string): { readonly name: string; readonly password: string } | undefined => {
  if (!base64.test(credential)) return undefined
  const text = textOf(Buffer.from(credential, "base64"))
  const colon = text?.indexOf(":") ?? -1
  // Control characters stand in neither; some hashes end at the first zero byte.
  return text === undefined || colon < 0 || /\p{Cc}/u.test(text)
    ? undefined
    : { name: text.slice(0, colon), password: text.slice(colon + 1) }
}

const textOf = (bytes: Uint8Array): string | undefined => {
  try {
    return utf8.decode(bytes)
  } catch {
    return undefined
  }
}
