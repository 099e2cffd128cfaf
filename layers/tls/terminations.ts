/**
 * One ready server of the runtime for each listener and each name that clients ask for: it ends TLS, and never listens
 * itself. A name has one of its own because the runtime lets a session of one name be resumed under another; names that come
 * faster than servers can be made share one that resumes nothing.
 */
import { constants } from "node:crypto"
import { createServer, type Server, type TLSSocket } from "node:tls"
import { Redacted } from "effect"
import { type Container, contained } from "../../src/services/contained.ts"
import type { ListenerTls } from "../../src/services/listener-tls.ts"
import { authorityOf } from "./authority.ts"
import { sessionContext, ticketKeys } from "./sessions.ts"

/** Names of one listener for which a server is kept; those that were asked for last stay. */
const mostNames = 256
/** Bytes that the servers of one listener take at most, and what one takes: client roots are in each of them. */
const mostBytes = 16 * 1024 * 1024
const bytesOf = ({ clients }: ListenerTls): number => 60_000 + 5 * (clients?.roots.length ?? 0)
/** A share of the time that may be spent on servers, and how many milliseconds may be saved up: clients make up names at will. */
const share = 0.05
const mostSaved = 50
/** The first one takes longer than others. */
const mostForOne = 10

/** Milliseconds: the deadline of the handshake is kept elsewhere, for the bytes before it as well. */
const never = 2_147_483_647

export class Terminations {
  readonly #servers = new WeakMap<ListenerTls, Map<string, Made>>()
  /** For names beyond that: no session of theirs is resumed. */
  readonly #shared = new WeakMap<ListenerTls, Server>()
  readonly #container: Container
  readonly #handling: Handling
  /** Milliseconds that may be spent, and as of when. */
  #saved = mostSaved
  #savedAt = 0

  constructor(container: Container, handling: Handling) {
    this.#container = container
    this.#handling = handling
  }

  /** @param local the address that the client has reached: it stands for the name where the client asks for none. */
  server(tls: ListenerTls, serverName: string | undefined, local: string): Server {
    let servers = this.#servers.get(tls)
    if (servers === undefined) {
      servers = new Map()
      this.#servers.set(tls, servers)
    }
    const key = serverName ?? (tls.mode === "dynamicCa" ? `[${local}]` : "")
    const now = this.#handling.now()
    const known = servers.get(key)
    if (known === undefined && !this.#mayMake() && tls.mode !== "dynamicCa") return this.#sharedServer(tls, now)
    servers.delete(key)
    const made = known !== undefined && now < known.until ? known : this.#timed(tls, serverName, local, now)
    servers.set(key, made)
    if (servers.size > Math.min(mostNames, Math.max(1, Math.floor(mostBytes / bytesOf(tls)))))
      servers.delete(servers.keys().next().value!)
    return made.server
  }

  #mayMake(): boolean {
    const now = performance.now()
    this.#saved = Math.min(mostSaved, this.#saved + (now - this.#savedAt) * share)
    this.#savedAt = now
    return this.#saved > 0
  }

  #timed(tls: ListenerTls, serverName: string | undefined, local: string, now: number): Made {
    const before = process.threadCpuUsage()
    const made = this.#make(tls, serverName, local, now, true)
    const { user, system } = process.threadCpuUsage(before)
    this.#saved -= Math.min(mostForOne, (user + system) / 1000)
    return made
  }

  #sharedServer(tls: ListenerTls, now: number): Server {
    let server = this.#shared.get(tls)
    if (server === undefined) {
      server = this.#make(tls, undefined, "", now, false).server
      this.#shared.set(tls, server)
    }
    return server
  }

  /** @param resumes whether its sessions may be resumed. Without tickets none can be: the runtime keeps none by itself. */
  #make(tls: ListenerTls, serverName: string | undefined, local: string, now: number, resumes: boolean): Made {
    const { clients, versions, ciphers, groups, alpn } = tls
    const shown =
      tls.mode === "dynamicCa"
        ? authorityOf(tls).issue(serverName ?? local, now)
        : { cert: tls.certificate, key: Redacted.value(tls.key), until: Number.POSITIVE_INFINITY }
    const server = createServer({
      cert: shown.cert,
      key: shown.key,
      ca: clients?.roots ?? [],
      requestCert: clients !== undefined,
      // Whoever may present one, and does, is looked at when the handshake is over.
      rejectUnauthorized: clients?.mode === "required",
      minVersion: versions[0],
      maxVersion: versions[1],
      ciphers: ciphers.join(":"),
      ...(groups === undefined ? {} : { ecdhCurve: groups.join(":") }),
      ALPNProtocols: [...alpn],
      secureOptions: constants.SSL_OP_NO_RENEGOTIATION | (resumes ? 0 : constants.SSL_OP_NO_TICKET),
      ticketKeys: ticketKeys(tls, serverName),
      sessionIdContext: sessionContext(tls, serverName),
      handshakeTimeout: never
    })
    const { secured, failed } = this.#handling
    const done = contained(this.#container, secured)
    const broken = contained(this.#container, failed)
    server.on("secureConnection", done).on("tlsClientError", broken)
    return { server, until: shown.until }
  }
}

/** What becomes of handshakes. */
interface Handling {
  /** Milliseconds since 1970. */
  readonly now: () => number
  readonly secured: (socket: TLSSocket) => void
  readonly failed: (error: NodeJS.ErrnoException, socket: TLSSocket) => void
}

interface Made {
  readonly server: Server
  /** Milliseconds since 1970: when another certificate is to be issued. */
  readonly until: number
}
