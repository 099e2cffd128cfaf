/** Why a call failed, in the few words that logs, metrics and clients are told. */
import { BodyAborted } from "../../src/http/body.ts"
import { NameUnresolved } from "../../src/services/names.ts"
import {
  type Reached,
  UnknownTransferCoding,
  type UpstreamError,
  UpstreamFailed,
  UpstreamTimedOut
} from "../../src/services/upstreams.ts"
import {
  ConnectionClosed,
  ConnectionSilent,
  ConnectTimedOut,
  MalformedFields,
  MalformedResponse,
  NotHttp2,
  PoolClosed,
  PoolExhausted,
  StreamRefused,
  StreamReset,
  TunnelPointless,
  TunnelRefused,
  UnreadableCoding,
  UnsendableRequest
} from "./client/failures.ts"

/** By the code of the system. */
const kinds: Readonly<Record<string, string>> = {
  ECONNREFUSED: "connection refused",
  // A unix socket that is not there, or that we may not use.
  ENOENT: "connection refused",
  EACCES: "connection refused",
  EPERM: "connection refused",
  ECONNRESET: "reset",
  EPIPE: "reset",
  ECONNABORTED: "reset",
  EHOSTUNREACH: "unreachable",
  ENETUNREACH: "unreachable",
  EADDRNOTAVAIL: "no local address",
  EMFILE: "no local resources",
  ENFILE: "no local resources"
}

/** The codes of handshakes that failed, and of certificates that do not convince. */
const tls =
  /^(ERR_TLS|ERR_SSL|ERR_OSSL|EPROTO$|CERT_|UNABLE_TO_|DEPTH_ZERO_|SELF_SIGNED_|INVALID_|PATH_LENGTH_|HOSTNAME_MISMATCH$)/

const codeOf = (error: Error): string => ("code" in error && typeof error.code === "string" ? error.code : error.name)

const kindOf = (error: Error): string => {
  if (error instanceof ConnectionClosed || error instanceof ConnectionSilent) return "reset"
  if (error instanceof StreamReset) return codesOfProtocol.has(error.code) ? "protocol" : "reset"
  if (error instanceof StreamRefused) return "refused"
  if (error instanceof MalformedResponse || error instanceof UnreadableCoding) return "protocol"
  if (error instanceof MalformedFields || error instanceof NotHttp2) return "protocol"
  if (error instanceof UnsendableRequest) return "request"
  if (error instanceof NameUnresolved) return "dns"
  if (error instanceof TunnelRefused || error instanceof TunnelPointless) return "tunnel"
  if (error instanceof PoolClosed) return "closed"
  if (error instanceof PoolExhausted) return "busy"
  const code = codeOf(error)
  if (code === "ERR_HTTP2_ERROR") return "protocol"
  if (code.startsWith("ERR_HTTP2_")) return "reset"
  return kinds[code] ?? (tls.test(code) ? "tls" : "other")
}

/** What a call that brought no response ends with. The detail names no address: clients read it. */
export const callError = (error: Error, connectTimeout: number, reached: Reached): UpstreamError => {
  if (error instanceof UnreadableCoding) return new UnknownTransferCoding({ coding: error.coding })
  if (error instanceof BodyAborted) return new UpstreamFailed({ kind: "request body", detail: error.detail, reached })
  if (error instanceof ConnectTimedOut || codeOf(error) === "ETIMEDOUT")
    return new UpstreamTimedOut({ after: connectTimeout, reached })
  const kind = kindOf(error)
  const detail = tunnelDetail(error) ?? detailOfHttp2(error) ?? details[kind] ?? worded(codeOf(error))
  return new UpstreamFailed({ kind, detail, reached })
}

const details: Readonly<Record<string, string>> = {
  reset: "the connection was closed before there was a response",
  protocol: "the response is not HTTP/1.1",
  request: "the request cannot be sent",
  busy: "all connections to the backend are in use",
  closed: "the backend is no longer configured"
}

const tunnelDetail = (error: Error): string | undefined => {
  if (error instanceof TunnelPointless) return "a socket is not reached through a proxy"
  if (!(error instanceof TunnelRefused)) return undefined
  const { status } = error
  if (status === undefined) return "the answer of the proxy is not HTTP/1.1"
  return status === 407 ? "the proxy requires authentication" : `the proxy answered ${status}`
}

/** How a stream ends whose response cannot be read, whoever says so. */
const codesOfProtocol: ReadonlySet<string> = new Set(["PROTOCOL_ERROR", "FRAME_SIZE_ERROR", "COMPRESSION_ERROR"])

const detailOfHttp2 = (error: Error): string | undefined => {
  if (error instanceof NotHttp2) return "the backend does not speak HTTP/2"
  if (error instanceof StreamReset) return `the backend ended the stream (${error.code})`
  if (error instanceof StreamRefused) return "the backend did not take the request"
  if (error instanceof ConnectionSilent) return "the backend answers no ping"
  if (error instanceof MalformedFields) return `the response is not HTTP/2 (${error.fault})`
  return codeOf(error) === "ERR_HTTP2_ERROR" ? "the response is not HTTP/2" : undefined
}

const untrusted = "the certificate of the backend comes from an authority that is not trusted"
const unaccepted = "the backend does not accept the client certificate"
const otherName = "the certificate of the backend is for another name"
const unspoken = "the backend speaks no TLS there"
const otherVersion = "the backend speaks no version of TLS that is spoken here"

/** What went wrong between two who speak TLS. The code is what to look for. */
const handshakes: Readonly<Record<string, string>> = {
  CERT_HAS_EXPIRED: "the certificate of the backend has expired",
  CERT_NOT_YET_VALID: "the certificate of the backend is not valid yet",
  DEPTH_ZERO_SELF_SIGNED_CERT: "the certificate of the backend is signed by itself",
  SELF_SIGNED_CERT_IN_CHAIN: untrusted,
  UNABLE_TO_GET_ISSUER_CERT: untrusted,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: untrusted,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: untrusted,
  ERR_TLS_CERT_ALTNAME_INVALID: otherName,
  HOSTNAME_MISMATCH: otherName,
  ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED: "the backend asks for a client certificate",
  ERR_SSL_TLSV1_ALERT_UNKNOWN_CA: unaccepted,
  "ERR_SSL_SSL/TLS_ALERT_BAD_CERTIFICATE": unaccepted,
  "ERR_SSL_SSL/TLS_ALERT_CERTIFICATE_EXPIRED": unaccepted,
  "ERR_SSL_SSL/TLS_ALERT_CERTIFICATE_REVOKED": unaccepted,
  "ERR_SSL_SSL/TLS_ALERT_CERTIFICATE_UNKNOWN": unaccepted,
  "ERR_SSL_SSL/TLS_ALERT_HANDSHAKE_FAILURE": "the backend refuses; it may ask for a client certificate",
  ERR_SSL_WRONG_VERSION_NUMBER: unspoken,
  ERR_SSL_PACKET_LENGTH_TOO_LONG: unspoken,
  ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION: otherVersion,
  ERR_SSL_UNSUPPORTED_PROTOCOL: otherVersion,
  ERR_SSL_TLSV1_ALERT_NO_APPLICATION_PROTOCOL: "the backend speaks none of the protocols of alpn"
}

const worded = (code: string): string => {
  const words = handshakes[code]
  return words === undefined ? code : `${words} (${code})`
}

/** What the body of a response ends with when it breaks off. */
export const bodyError = (error: Error): BodyAborted => {
  const kind = kindOf(error)
  return new BodyAborted({ source: "backend", detail: kind === "other" ? error.message : kind })
}
