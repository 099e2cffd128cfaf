/** The servers that a configuration calls: whether each has an address, takes connections, and shows a certificate that is trusted. */
import { lookup } from "node:dns/promises"
import { connect, isIP, type Socket } from "node:net"
import { connect as connectTls } from "node:tls"
import { Effect, Redacted } from "effect"
import { tlsClient } from "../../../layers/http/client/tls.ts"
import { formatPath, type Path } from "../../../spec/config/path.ts"
import { type Address, formatAddress, parseUrl } from "../../../spec/target.ts"
import type { ConfigurationText } from "../../check/check.ts"
import type { Normalised } from "../../routing/normalised.ts"
import type { UpstreamOptions, UpstreamTls } from "../../services/upstreams.ts"
import { compiledOver } from "../configuration/offline.ts"
import { type Ailment, error } from "./ailment.ts"

/** A server to be called. */
export interface Destination {
  readonly address: Address
  readonly tls: UpstreamTls | undefined
  /** Where it is written, if one place says it. */
  readonly path: string | undefined
}

export interface Visit {
  readonly ailments: ReadonlyArray<Ailment>
  /** How many milliseconds the clock of the server is ahead of this one. */
  readonly ahead: number | undefined
}

const patience = 4_000

/** What a configuration opens when it is compiled, and what it calls later. */
export const calleesOf = Effect.fnUntraced(function* (config: Normalised, source: ConfigurationText) {
  const found = new Map<string, Destination>()
  /** How a server is called is known to whoever opens connections; where it is written, to the file. */
  const add = (destination: Destination) => {
    const key = formatAddress(destination.address)
    const known = found.get(key)
    found.set(key, known === undefined ? destination : { ...known, path: known.path ?? destination.path })
  }
  const opened = (address: Address, tls: UpstreamOptions["tls"]) =>
    Effect.map(tls !== undefined && "follow" in tls ? tls.follow(() => {}) : Effect.succeed(tls), (tls) =>
      add({ address, tls, path: undefined })
    )
  /** Servers that a proxy alone may know and reach. */
  const behind = new Set<string>()
  const nobody = { send: () => Effect.never }
  const noStreams = { connect: Effect.never, idleTimeout: undefined }
  /** Whoever is called to reach a backend. */
  const called = (address: Address, { tls, tunnel }: UpstreamOptions) => {
    if (tunnel === undefined) return opened(address, tls)
    behind.add(formatAddress(address))
    return opened(tunnel.proxy, tunnel.tls)
  }
  yield* Effect.ignore(
    compiledOver(source, {
      open: (address, options) => Effect.as(called(address, options), nobody),
      openStreams: (address, options) => Effect.as(called(address, options), noStreams),
      openChosen: ({ tunnel }) =>
        Effect.as(tunnel === undefined ? Effect.void : opened(tunnel.proxy, tunnel.tls), {
          pseudonym: "nobody",
          at: () => nobody
        })
    })
  )
  const addWritten = (address: Address, path?: Path) => {
    const key = formatAddress(address)
    if (found.has(key) || !behind.has(key)) add({ address, tls: undefined, path: path && formatPath(path) })
  }
  for (const { destination, path } of Object.values(config.backends)) {
    if (destination.kind === "host") addWritten(destination.config, path)
    if (destination.kind !== "mcp") continue
    for (const [index, { mcp, sse, openapi }] of destination.config.targets.entries()) {
      const endpoint = mcp ?? sse ?? openapi?.endpoint
      if (endpoint !== undefined && "address" in endpoint) addWritten(endpoint.address, [...path, "targets", index])
    }
  }
  for (const url of urls(config)) {
    const address = parseUrl(url)?.address
    if (address !== undefined) addWritten(address)
  }
  return [...found.values()]
})

/** Addresses of documents that policies read, as key sets. */
const urls = (value: unknown): ReadonlyArray<string> => {
  if (typeof value !== "object" || value === null || Redacted.isRedacted(value)) return []
  return Object.entries(value).flatMap(([key, each]) =>
    typeof each === "string" ? (key === "url" && /^https?:\/\//.test(each) ? [each] : []) : urls(each)
  )
}

/** Why a server cannot be called, and what helps. */
const connectionFaults: Readonly<Record<string, readonly [what: string, remedy: string]>> = {
  ECONNREFUSED: ["nobody listens there", "start the server, or correct host and port"],
  EHOSTUNREACH: ["there is no way to this host", "check the network and its rules, or correct the host"],
  ENETUNREACH: ["there is no way to this network", "check the network, or correct the host"],
  ETIMEDOUT: ["it does not answer", "check the network and its rules, or correct host and port"],
  ENOENT: ["there is no such socket", "start the server, or correct the path"],
  EACCES: ["this user may not use the socket", "let this user write the socket"],
  ECONNRESET: ["it hangs up at once", "check that the server speaks what is asked of it"]
}

const certificateFaults: Readonly<Record<string, readonly [what: string, remedy: string]>> = {
  DEPTH_ZERO_SELF_SIGNED_CERT: [
    "its certificate is signed by itself",
    "name it, or the authority behind it, in backendTLS.root, or in NODE_EXTRA_CA_CERTS"
  ],
  SELF_SIGNED_CERT_IN_CHAIN: [
    "its certificate comes from an authority that is not trusted",
    "name the authority in backendTLS.root, or in NODE_EXTRA_CA_CERTS"
  ],
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: [
    "its certificate comes from an authority that is not trusted",
    "name the authority in backendTLS.root, or let the server send the whole chain"
  ],
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: [
    "its certificate comes from an authority that is not trusted",
    "name the authority in backendTLS.root, or let the server send the whole chain"
  ],
  CERT_HAS_EXPIRED: [
    "its certificate has expired",
    "renew it at the server; if it has not, set the clock of this machine"
  ],
  CERT_NOT_YET_VALID: ["its certificate is not valid yet", "set the clock of this machine or of the server"],
  ERR_TLS_CERT_ALTNAME_INVALID: [
    "its certificate is for another name",
    "write the name that stands in the certificate, or set backendTLS.hostname to it"
  ],
  ERR_SSL_WRONG_VERSION_NUMBER: ["it speaks no TLS", "write http:// in place of https://, or the port that speaks TLS"],
  ERR_SSL_PACKET_LENGTH_TOO_LONG: [
    "it speaks no TLS",
    "write http:// in place of https://, or the port that speaks TLS"
  ],
  EPROTO: ["it speaks no TLS, or none that both know", "check the port, and the versions that the server speaks"]
}

const codeOf = (cause: unknown): string =>
  cause instanceof Error && "code" in cause && typeof cause.code === "string" ? cause.code : String(cause)

/** Asks for the head of the page at `/`, and reads its date; nothing else of it matters. */
const dateOf = (socket: Socket, host: string): Promise<number | undefined> =>
  new Promise((resolve) => {
    let head = ""
    const done = () => {
      clearTimeout(timer)
      const date = Date.parse(/^date: *(.+)$/im.exec(head)?.[1] ?? "")
      resolve(Number.isNaN(date) ? undefined : date)
    }
    const timer = setTimeout(done, patience / 4)
    socket.on("data", (chunk: Buffer) => {
      head += chunk.toString("latin1")
      if (head.includes("\r\n\r\n") || head.length > 65_536) done()
    })
    socket.on("close", done)
    socket.on("error", done)
    socket.write(`HEAD / HTTP/1.1\r\nhost: ${host}\r\nuser-agent: headgatectl doctor\r\nconnection: close\r\n\r\n`)
  })

const opened = (socket: Socket, event: "connect" | "secureConnect"): Promise<string | undefined> =>
  new Promise((resolve) => {
    const timer = setTimeout(() => resolve("ETIMEDOUT"), patience)
    const end = (code: string | undefined) => {
      clearTimeout(timer)
      resolve(code)
    }
    socket.once(event, () => end(undefined))
    socket.once("error", (cause) => end(codeOf(cause)))
  })

/** Resolves the name, connects, agrees on TLS where it is asked for, and reads the date of an answer. */
export const visit = (destination: Destination, now: () => number): Effect.Effect<Visit> =>
  Effect.promise(() => visited(destination, now))

const visited = async ({ address, tls, path }: Destination, now: () => number): Promise<Visit> => {
  const place = `${path === undefined ? "" : `${path}: `}${formatAddress(address)}`
  const failed = (what: string, remedy: string): Visit => ({
    ailments: [error("backends", `${place}: ${what}`, remedy)],
    ahead: undefined
  })
  const fault = (code: string, faults: typeof connectionFaults): Visit => {
    const [what, remedy] = faults[code] ?? [`it cannot be reached (${code})`, "check the server and the network"]
    return failed(what, remedy)
  }
  if (address.kind === "tcp" && isIP(address.host) === 0) {
    const resolved = await lookup(address.host).catch(codeOf)
    if (typeof resolved === "string")
      return failed(`the name ${address.host} leads to no address`, "correct it, or check the resolver of this machine")
  }
  const target = address.kind === "unix" ? { path: address.path } : { host: address.host, port: address.port }
  const plain = connect({ ...target, autoSelectFamily: true })
  try {
    const refused = await opened(plain, "connect")
    if (refused !== undefined) return fault(refused, connectionFaults)
    if (address.kind === "unix") return { ailments: [], ahead: undefined }
    const secure = address.tls || tls !== undefined
    const client = tlsClient(address.host, tls ?? { verify: "everything" })
    const socket = secure ? connectTls({ socket: plain, ...client.options, secureContext: client.context() }) : plain
    if (secure) {
      const refusal = await opened(socket, "secureConnect")
      if (refusal !== undefined) return fault(refusal, { ...connectionFaults, ...certificateFaults })
    }
    const date = await dateOf(socket, address.host)
    return { ailments: [], ahead: date === undefined ? undefined : date - now() }
  } catch {
    // Certificates that cannot be used are told as such.
    return { ailments: [], ahead: undefined }
  } finally {
    plain.destroy()
  }
}
