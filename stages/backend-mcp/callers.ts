/**
 * The callers of the targets of a relay. A relay outlives a reload, and its sessions with it: from the first request on that runs
 * on a newer configuration, its targets are called as that one says. A target that is shown the token of the client gets that of the
 * request which a message is sent for: a session has many, and the token of its beginning may be over.
 */

import { HeaderList } from "../../src/policy/policy.ts"
import { type Asking, bearerOf, type Caller } from "../../src/policy/terminal.ts"
import { clientToken } from "../../src/protocols/mcp/headers.ts"
import type { McpCaller } from "../../src/protocols/mcp/http/contract.ts"

/** How one configuration calls the targets, by name. */
export class ConfiguredCallers {
  static #made = 0
  readonly number = ++ConfiguredCallers.#made
  readonly callers: ReadonlyMap<string, Caller>
  /** Whether a target is shown the token of the client. */
  readonly handsOver: boolean
  /** The headers in which the backend shows credentials: a target with one of its own gets none of them. */
  readonly #shown = new Set<string>()
  constructor(callers: ReadonlyMap<string, Caller>) {
    this.callers = callers
    this.handsOver = callers.values().some((caller) => caller.handsOver)
  }

  /** @param lines of headers: name in lower case, value, name, value … */
  shows(lines: ReadonlyArray<string>): void {
    for (let i = 0; i < lines.length; i += 2) this.#shown.add(lines[i]!)
  }

  headersFor({ showsCredential }: Caller, headers: Array<string>): HeaderList {
    const list = new HeaderList(headers)
    if (showsCredential) for (const name of this.#shown) list.delete(name)
    return list
  }
}

export class CurrentCallers {
  #configured: ConfiguredCallers
  #origin: Asking | undefined = undefined
  /** Whether tokens of clients may be on their way, under whatever configuration. */
  #carries = false

  constructor(configured: ConfiguredCallers) {
    this.#configured = configured
  }

  /** A request has come that runs on this configuration. */
  use(configured: ConfiguredCallers, { arrived, now, settings }: Asking): void {
    this.#carries ||= configured.handsOver
    if (this.#origin !== undefined && configured.number <= this.#configured.number) return
    this.#configured = configured
    // Whatever is sent for a session has no request of its own; the time and the settings are what counts of it.
    this.#origin = { arrived, now, settings }
  }

  of(target: string): McpCaller {
    const current = () => this.#configured.callers.get(target)!
    return {
      get origin() {
        return current().origin
      },
      call: ({ method, path, headers, body }, repeatable) => {
        const token = this.#carries ? takeToken(headers) : undefined
        const request = {
          method,
          pathAndQuery: path,
          authority: undefined,
          headers: this.#configured.headersFor(current(), headers),
          body,
          repeatable
        }
        return current().send(this.#origin!, request, token === undefined ? undefined : bearerOf(token))
      }
    }
  }
}

/** Takes the token of the client out of the headers that are sent for its request. */
const takeToken = (headers: Array<string>): string | undefined => {
  for (let i = 0; i < headers.length; i += 2) if (headers[i] === clientToken) return headers.splice(i, 2)[1]
  return undefined
}
