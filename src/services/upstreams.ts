/**
 * Port: HTTP calls to backends. A backend is opened once per configuration and keeps its connections between calls;
 * pools that two configurations share outlive a reload.
 */
import { Context, Data, type Effect, type Redacted, type Scope } from "effect"
import type { Keepalives } from "../../spec/connection/tcp.ts"
import type { Address } from "../../spec/target.ts"
import type { Body } from "../http/body.ts"
import type { HeaderList } from "../http/header-list.ts"
import type { Answer, Informer } from "../http/message.ts"

/** Whom a TLS connection trusts, and what it shows of itself. Texts are PEM. */
export interface UpstreamTls {
  /** The trusted authorities. Default: those of the system. */
  readonly root?: string | undefined
  /** The name to ask for and to verify. Default: the host of the backend. */
  readonly hostname?: string | undefined
  readonly client?: { readonly certificate: string; readonly key: Redacted.Redacted<string> } | undefined
  /** What of the server's certificate is verified. */
  readonly verify: "everything" | "chain" | "nothing"
  /** One of these must be among the names of the server's certificate, in place of the name that is asked for. */
  readonly names?: ReadonlyArray<string> | undefined
  /** The protocols that are offered. Default: that of the version that is spoken. */
  readonly alpn?: ReadonlyArray<string> | undefined
  /** The groups for the key exchange, best first. Default: those of the runtime. */
  readonly groups?: ReadonlyArray<string> | undefined
}

/** TLS whose certificates are in files: others may be there while connections are in use. */
export interface FollowedTls {
  /** The files of the client certificate and its key. */
  readonly client: { readonly certificate: string; readonly key: string } | undefined
  /** What holds now, and whatever holds later, as long as the scope. */
  readonly follow: (changed: (tls: UpstreamTls) => void) => Effect.Effect<UpstreamTls, never, Scope.Scope>
}

/** An HTTP proxy on the way to a backend. */
export interface UpstreamTunnel {
  readonly proxy: Address
  /** `connect`: through a tunnel in any case. `auto`: what is plain HTTP is asked of the proxy itself. */
  readonly mode: "auto" | "connect"
  /** What the proxy is shown as `proxy-authorization`. */
  readonly authorization?: Redacted.Redacted<string> | undefined
  /** Towards the proxy. */
  readonly tls?: UpstreamOptions["tls"]
  /** Milliseconds until the connection to the proxy must stand. Default: that of the backend. */
  readonly connectTimeout?: number | undefined
  /** Probes of connections to the proxy. Default: those of the backend. */
  readonly probes?: Probes | "none" | undefined
}

/** A version of HTTP. */
export type Version = "1.1" | "2"

export interface UpstreamOptions {
  /** The version to speak, whatever calls would prefer. Default: what the call says, or, by `alpn`, the backend. */
  readonly version?: Version | undefined
  /** Of a target with TLS. Default: the trust of the system. */
  readonly tls?: UpstreamTls | FollowedTls | undefined
  /** Milliseconds until a connection must stand. Default 10,000. */
  readonly connectTimeout?: number | undefined
  /** Milliseconds that an idle connection is kept. Default 90,000. */
  readonly idleTimeout?: number | undefined
  /** The most connections to one backend; `Infinity`: no limit, whatever holds for others. Default: no limit. */
  readonly maxConnections?: number | undefined
  /** TCP probes of connections that are silent. Default: after 3 minutes, every 3 minutes, 9 of them. */
  readonly probes?: Probes | "none" | undefined
  /** Which addresses of a name are tried. Default: all, those of IPv4 first. */
  readonly addresses?: Addresses | undefined
  /** Milliseconds for which nothing of a body, or of a connection that has left HTTP, may move. Default: any time. */
  readonly bodyIdleTimeout?: number | undefined
  /** Default: none. */
  readonly tunnel?: UpstreamTunnel | undefined
}

/** Options in which nothing changes any more. */
export type FixedOptions = Omit<UpstreamOptions, "tls" | "tunnel"> & {
  readonly tls?: UpstreamTls | undefined
  readonly tunnel?: FixedTunnel | undefined
}
export type FixedTunnel = Omit<UpstreamTunnel, "tls"> & { readonly tls?: UpstreamTls | undefined }

export type Addresses = "all" | "v4 first" | "v4" | "v6"

/** After `time` milliseconds of silence a connection is probed every `interval` milliseconds, and given up after `retries`. */
export interface Probes {
  readonly time: number
  readonly interval: number
  readonly retries: number
}

export const probesOf = ({ enabled, time, interval, retries }: (typeof Keepalives)["Type"]): Probes | "none" =>
  enabled ? { time, interval, retries } : "none"

/** How far a call got before it failed: what may be done about the failure follows from it. */
export type Reached = "nothing sent" | "sent" | "head received" | "body begun"

/** For how many milliseconds a call waits for the response headers, and how it fails when they are not there by then. */
export interface CallTimeout<E> {
  readonly milliseconds: number
  readonly failure: (reached: Reached) => E
}

/** That of one call. */
export const callTimeout = (milliseconds: number): CallTimeout<UpstreamTimedOut> => ({
  milliseconds,
  failure: (reached) => new UpstreamTimedOut({ after: milliseconds, reached })
})

export interface UpstreamRequest<E = never> {
  readonly method: string
  readonly pathAndQuery: string
  /** The `host` header. */
  readonly authority: string
  /** Without `host` and hop-by-hop headers. */
  readonly headers: HeaderList
  readonly body: Body
  /** It does no harm twice, though its method does not say so. */
  readonly repeatable?: boolean
  /** `undefined`: the response headers may take as long as they like. */
  readonly timeout: CallTimeout<E> | undefined
  /** Beside `timeout`: one that stands still while the body, which is on its way, keeps the call waiting. */
  readonly patience?: CallTimeout<E> | undefined
  /** The protocol to upgrade to, if the client asked for one. */
  readonly upgrade: string | undefined
  /** What it is sent in where nobody says otherwise. Default: HTTP/1.1. */
  readonly version?: Version | undefined
  /** Told about each 1xx response other than 101. */
  readonly informer: Informer | undefined
}

/** No response came: the connection could not be made, or broke before its headers were complete. */
export class UpstreamFailed extends Data.TaggedError("UpstreamFailed")<{
  /** `connection refused`, `reset`, `dns`, `protocol` …. */
  readonly kind: string
  readonly detail: string
  readonly reached: Reached
}> {
  readonly status = 503
  readonly reason = "UpstreamFailure"
  readonly source = "backend"
  override get message() {
    return this.kind === "dns"
      ? "backends required DNS resolution which failed"
      : `upstream call failed: ${this.kind}: ${this.detail}`
  }
}

/** The client asked to change the protocol, and the backend changed to another one. */
export class UpgradeMismatched extends Data.TaggedError("UpgradeMismatched")<{
  readonly offered: string
  readonly requested: string
}> {
  readonly status = 502
  readonly reason = "UpstreamFailure"
  readonly source = "backend"
  readonly reached = "head received"
  override get message() {
    return `request upgrade failed, backend tried ${this.offered} but ${this.requested} was requested`
  }
}

/** The body of the response is coded in a way for its transfer that nobody asked for, and that cannot be undone. */
export class UnknownTransferCoding extends Data.TaggedError("UnknownTransferCoding")<{ readonly coding: string }> {
  readonly status = 502
  readonly reason = "UpstreamFailure"
  readonly source = "backend"
  readonly reached = "head received"
  override get message() {
    return "upstream call failed: protocol: the response has an unknown transfer-encoding"
  }
}

/** The body of the response cannot be read, which was seen before anything of the response was passed on. */
export class MalformedBody extends Data.TaggedError("MalformedBody")<{}> {
  readonly status = 502
  readonly reason = "UpstreamFailure"
  readonly source = "backend"
  readonly reached = "body begun"
  override get message() {
    return "upstream call failed: protocol: the body of the response is not HTTP/1.1"
  }
}

/** The connection, or the response headers, did not come in time. */
export class UpstreamTimedOut extends Data.TaggedError("UpstreamTimedOut")<{
  readonly after: number
  readonly reached: Reached
}> {
  readonly status = 504
  readonly reason = "Timeout"
  readonly source = "backend"
  override get message() {
    return "upstream call timeout"
  }
}

/** Whoever would have had to move: its turn it was to send, or to take what was sent. */
export type Silent = "client" | "backend"

/** Nothing of the body of the request moved for as long as that may last, and there was no answer yet. */
export class UpstreamIdle extends Data.TaggedError("UpstreamIdle")<{
  readonly silent: Silent
  readonly reached: Reached
}> {
  readonly status = this.silent === "client" ? 408 : 504
  readonly reason = "Timeout"
  readonly source = this.silent
  override get message() {
    return this.silent === "client" ? "the request body did not come in time" : "upstream call timeout"
  }
}

export type UpstreamError =
  | UpstreamFailed
  | UpstreamTimedOut
  | UpstreamIdle
  | UpgradeMismatched
  | UnknownTransferCoding
  | MalformedBody

export interface Upstream {
  /** Ends with the response head; interrupting it, or cancelling the body of the answer, ends the call. */
  readonly send: <E = never>(request: UpstreamRequest<E>) => Effect.Effect<Answer, UpstreamError | E>
}

/** A connection of bytes to a backend, for the adapters that pass bytes on. Nothing of it was read; whoever has it ends it. */
export interface Stream {
  /** The address at which the backend was reached. */
  readonly address: string
}

/** Connections of bytes to one backend. */
export interface Streams {
  /** Makes one: a name, a connection, a tunnel and a handshake within the time that they have. Interrupting gives it up. */
  readonly connect: Effect.Effect<Stream, UpstreamError>
  /** Milliseconds for which nothing may move on one; `undefined`: any time. */
  readonly idleTimeout: number | undefined
}

/** Backends that a request names. */
export interface Chosen {
  /** What this process calls itself in `via`, so that it knows a request that comes back to it. */
  readonly pseudonym: string
  /** Connections are kept to many of them, and then to those that were called last. */
  readonly at: (target: Address) => Upstream
}

export class Upstreams extends Context.Service<
  Upstreams,
  {
    readonly open: (target: Address, options: UpstreamOptions) => Effect.Effect<Upstream, never, Scope.Scope>
    /** Opens each of them when it is first called. */
    readonly openChosen: (options: UpstreamOptions) => Effect.Effect<Chosen, never, Scope.Scope>
    /** For what is not HTTP. Every connection is a new one. */
    readonly openStreams: (target: Address, options: UpstreamOptions) => Effect.Effect<Streams, never, Scope.Scope>
  }
>()("headgate/services/Upstreams") {}

/** What connections with these options show of the proxy. Files stand for what is in them, which may be renewed. */
export const shownBy = ({ tls, tunnel }: UpstreamOptions) => {
  const shown = { client: tls?.client, authorization: tunnel?.authorization, clientOfProxy: tunnel?.tls?.client }
  return Object.values(shown).some((each) => each !== undefined) ? shown : undefined
}

/** The options with `defaults` where they say nothing. */
export const filled = (options: UpstreamOptions, defaults: UpstreamOptions): UpstreamOptions => {
  const said = Object.entries(options).filter(([, value]) => value !== undefined)
  return { ...defaults, ...Object.fromEntries(said) }
}

/** The same backends, opened with `defaults` where nobody says otherwise. */
export const withDefaults = (
  { open, openChosen, openStreams }: Upstreams["Service"],
  defaults: UpstreamOptions
): Upstreams["Service"] => ({
  open: (target, options) => open(target, filled(options, defaults)),
  openChosen: (options) => openChosen(filled(options, defaults)),
  openStreams: (target, options) => openStreams(target, filled(options, defaults))
})
