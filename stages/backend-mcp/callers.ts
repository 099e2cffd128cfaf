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
  constructor(callers: ReadonlyMap<string, Caller>) {
    this.callers = callers
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
          headers: new HeaderList(headers),
          body,
          repeatable
        })
    }
  }
}
