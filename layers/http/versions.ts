/**
 * All connections to one backend, whichever version of HTTP they speak. Which one that is the configuration says, or the request, or
 * the backend itself, where it is offered both: then what it chose once is expected of it again.
 */
import type { Later } from "../../src/services/timer.ts"
import type { Version } from "../../src/services/upstreams.ts"
import { Sessions } from "../http2/client/sessions.ts"
import type { Carriers, Waiter } from "./client/carrier.ts"
import { Connection } from "./client/connection.ts"
import { type Dialler, Opened } from "./client/dial.ts"
import type { PoolExhausted } from "./client/failures.ts"
import { Pool } from "./client/pool.ts"
import { type ConnectionSettings, versionOf } from "./connection-settings.ts"

export interface VersionsSettings {
  readonly dialler: Dialler
  readonly settings: ConnectionSettings
  readonly now: () => number
  /** For what need not keep the process alive. */
  readonly later: Later
  readonly defect: (cause: unknown) => void
  /** Told which limit refused a call. */
  readonly refused: (limit: PoolExhausted["limit"]) => void
}

export class Versions {
  readonly #settings: ConnectionSettings
  readonly #http1: Pool
  readonly #http2: Sessions
  /** What the backend chose. */
  #chosen: Version | undefined = undefined

  constructor({ dialler, settings, now, later, defect, refused }: VersionsSettings) {
    this.#settings = settings
    const {
      idleTimeout,
      connectTimeout: acquireTimeout,
      maxConnections: most = Number.POSITIVE_INFINITY,
      tls
    } = settings
    const { dial, follow } = dialler
    const offered = (version: Version) => (versionOf(settings, version) === "either" ? "either" : version)
    const common = { follow, idleTimeout, acquireTimeout, now, later, defect, refused }
    this.#http1 = new Pool({
      ...common,
      dial: (home, done) =>
        // Until the backend has chosen this version it is asked for by what leaves HTTP alone, which must have it.
        dial(home, this.#chosen === "1.1" ? offered("1.1") : "1.1", (made) => {
          if (made instanceof Opened) {
            done(undefined)
            this.#http2.adopt(made)
            this.#speaks("2")
          } else done(made)
        }),
      most: settings.maxConnections,
      elsewhere: { count: () => this.#http2.count, spare: () => this.#http2.spare(), freed: () => this.#http2.grow() }
    })
    this.#http2 = new Sessions({
      ...common,
      scheme: tls === undefined ? "http" : "https",
      hasRoom: () => this.#http1.count + this.#http2.count < most || this.#http1.spare(),
      freed: () => this.#http1.grow(),
      dial: (done) =>
        dial(this.#http1, offered("2"), (made) => {
          if (made instanceof Connection) {
            done(undefined)
            this.#http1.adopt(made)
            this.#speaks("1.1")
          } else done(made)
        })
    })
  }

  /** Connections for a call. @param preferred what it would be sent in where nobody says otherwise. */
  for(preferred: Version): Carriers {
    return this.expected(preferred) === "2" ? this.#http2 : this.#http1
  }

  /** Connections for what leaves HTTP: it takes them along. */
  get forUpgrades(): Carriers {
    return this.#http1
  }

  /** Whoever waits no longer, in whichever version: that may be another one by now than it was to be sent in. */
  forget(waiter: Waiter): void {
    this.#http1.forget(waiter)
    this.#http2.forget(waiter)
  }

  /** What a call will be sent in, unless the backend turns out to speak the other one. */
  expected(preferred: Version): Version {
    const version = versionOf(this.#settings, preferred)
    // One connection is enough to find out, for as many calls as there are.
    return version === "either" ? (this.#chosen ?? "2") : version
  }

  close(): void {
    this.#http1.close()
    this.#http2.close()
  }

  get waiting(): number {
    return this.#http1.waiting + this.#http2.waiting
  }

  /** Whoever waits for the other version goes on with this one. */
  #speaks(version: Version): void {
    this.#chosen = version
    const [from, to] = version === "2" ? [this.#http1, this.#http2] : [this.#http2, this.#http1]
    for (const waiter of from.takeWaiters()) to.acquire(waiter)
  }
}
