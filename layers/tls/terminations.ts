/**
 * One ready server of the runtime for each listener and each name that clients ask for: it ends TLS, and never listens
 * itself. A name has one of its own because the runtime lets a session of one name be resumed under another.
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

/** Milliseconds: the deadline of the handshake is kept elsewhere, for the bytes before it as well. */
const never = 2_147_483_647

export class Terminations {
  readonly #servers = new WeakMap<ListenerTls, Map<string, Made>>()
  readonly #container: Container
  readonly #handling: Handling

  constructor(container: Container, handling: Handling) {
    this.#container = container
    this.#handling = handling
  }

  /** @param local the address that the client has reached: it stands for the name where the client asks for none. */
  server(tls: ListenerTls, serverName: string | undefined, local: string | undefined): Server {
    let servers = this.#servers.get(tls)
    if (servers === undefined) {
      servers = new Map()
      this.#servers.set(tls, servers)
    }
    const key = serverName ?? (tls.mode === "dynamicCa" ? `[${local}]` : "")
    const now = this.#handling.now()
    const known = servers.get(key)
    servers.delete(key)
    const made = known !== undefined && now < known.until ? known : this.#make(tls, serverName, local, now)
    servers.set(key, made)
    if (servers.size > mostNames) servers.delete(servers.keys().next().value!)
    return made.server
  }

  #make(tls: ListenerTls, serverName: string | undefined, local: string | undefined, now: number): Made {
    const { clients, versions, ciphers, groups, alpn } = tls
    const shown =
      tls.mode === "dynamicCa"
        ? authorityOf(tls).issue(serverName ?? local ?? "localhost", now)
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
      secureOptions: constants.SSL_OP_NO_RENEGOTIATION,
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
