/**
 * One ready server of the runtime for each listener and each name that clients ask for: it ends TLS, and never listens
 * itself. A name has one of its own because the runtime lets a session of one name be resumed under another.
 */
import { constants } from "node:crypto"
import { createServer, type Server, type TLSSocket } from "node:tls"
import { Redacted } from "effect"
import type { ListenerTls } from "../../src/services/listener-tls.ts"
import { authorityOf } from "./authority.ts"
import { sessionContext, ticketKeys } from "./sessions.ts"

/** Names of one listener for which a server is kept; those that were asked for last stay. */
const mostNames = 256

/** Milliseconds: the deadline of the handshake is kept elsewhere, for the bytes before it as well. */
const never = 2_147_483_647

export class Terminations {
  readonly #servers = new WeakMap<ListenerTls, Map<string, Made>>()
  readonly #secured: (socket: TLSSocket) => void
  readonly #failed: (error: NodeJS.ErrnoException, socket: TLSSocket) => void
  readonly #now: () => number

  /** @param failed told of each handshake that comes to nothing. */
  constructor(
    secured: (socket: TLSSocket) => void,
    failed: (error: NodeJS.ErrnoException, socket: TLSSocket) => void,
    now: () => number
  ) {
    this.#secured = secured
    this.#failed = failed
    this.#now = now
  }

  /** @param local the address that the client has reached: it stands for the name where the client asks for none. */
  server(tls: ListenerTls, serverName: string | undefined, local: string | undefined): Server {
    let servers = this.#servers.get(tls)
    if (servers === undefined) {
      servers = new Map()
      this.#servers.set(tls, servers)
    }
    const key = serverName ?? (tls.mode === "dynamicCa" ? `[${local}]` : "")
    const now = this.#now()
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
    server.on("secureConnection", this.#secured)
    server.on("tlsClientError", this.#failed)
    return { server, until: shown.until }
  }
}

interface Made {
  readonly server: Server
  /** Milliseconds since 1970: when another certificate is to be issued. */
  readonly until: number
}
