/**
 * The callers of the targets of a relay. A relay outlives a reload, and its sessions with it: from the first request on that runs
 * on a newer configuration, its targets are called as that one says.
 */

import { HeaderList } from "../../src/policy/policy.ts"
import type { Asking, Caller } from "../../src/policy/terminal.ts"
import type { McpCaller } from "../../src/protocols/mcp/http/contract.ts"

/** How one configuration calls the targets, by name. */
export class ConfiguredCallers {
  static #made = 0
  readonly number = ++ConfiguredCallers.#made
  readonly callers: ReadonlyMap<string, Caller>
  /** The headers in which the backend shows credentials: a target with one of its own gets none of them. */
  readonly #shown = new Set<string>()
  constructor(callers: ReadonlyMap<string, Caller>) {
    this.callers = callers
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

  constructor(configured: ConfiguredCallers) {
    this.#configured = configured
  }

  /** A request has come that runs on this configuration. */
  use(configured: ConfiguredCallers, { arrived, now, settings }: Asking): void {
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
      call: ({ method, path, headers, body }, repeatable) =>
        current().send(this.#origin!, {
          method,
          pathAndQuery: path,
          authority: undefined,
          headers: this.#configured.headersFor(current(), headers),
          body,
          repeatable
        })
    }
  }
}
