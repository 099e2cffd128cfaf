/**
 * An HTTP proxy on the way to a backend: plain HTTP is asked of it in absolute form, anything else goes through a tunnel that it
 * makes (RFC 9112 3.2.2, RFC 9110 9.3.6).
 */
import type { Socket } from "node:net"
import { Redacted } from "effect"
import { type Address, formatAddress } from "../../../spec/target.ts"
import { type Container, contained } from "../../../src/services/contained.ts"
import type { FixedTunnel, UpstreamTls } from "../../../src/services/upstreams.ts"
import { ConnectionClosed, TunnelRefused } from "./failures.ts"
import { ResponseParser } from "./response-parser.ts"

/** How requests are written that a proxy passes on. */
export interface AbsoluteForm {
  /** What stands before the path. Who is reached is for the configuration to say, never for the request. */
  readonly origin: string
  readonly authority: string
  /** The line for the proxy, or nothing. */
  readonly authorization: string
}

const authorizationLine = ({ authorization }: FixedTunnel): string =>
  authorization === undefined ? "" : `proxy-authorization: ${Redacted.value(authorization)}\r\n`

/** Whether a tunnel leads to a backend; else the proxy itself is asked. */
export const isTunnelled = (target: Address, { mode }: FixedTunnel, tls: UpstreamTls | undefined): boolean =>
  mode === "connect" || tls !== undefined || target.kind === "unix"

/** How requests are written for the proxy that passes them on, if it does. */
export const formOf = (
  target: Address,
  tunnel: FixedTunnel | undefined,
  tls: UpstreamTls | undefined
): AbsoluteForm | undefined => {
  if (tunnel === undefined || target.kind === "unix" || isTunnelled(target, tunnel, tls)) return undefined
  const named = formatAddress({ ...target, tls: false })
  const authority = target.port === 80 ? named.slice(0, -":80".length) : named
  return { origin: `http://${authority}`, authority, authorization: authorizationLine(tunnel) }
}

/** Bytes of the head in which a proxy answers. */
const maxHeadBytes = 8192

/**
 * Asks for a tunnel over a connection that stands and that nobody reads from. Told once, unless the connection breaks.
 * @param mayBegin whether the backend may speak before it is asked, as it does in HTTP/2.
 */
export const askForTunnel = (
  socket: Socket,
  target: Extract<Address, { readonly kind: "tcp" }>,
  tunnel: FixedTunnel,
  mayBegin: boolean,
  container: Container,
  answered: (failure: TunnelRefused | ConnectionClosed | undefined) => void
): void => {
  const authority = formatAddress({ ...target, tls: false })
  const parser = new ResponseParser()
  // Whatever a success says of its length, what follows is of the backend (RFC 9110 9.3.6).
  parser.begin(true, false)
  let length = 0
  const over = (failure: TunnelRefused | ConnectionClosed | undefined, rest?: Buffer): void => {
    socket.off("data", read).off("end", ended).pause()
    if (rest !== undefined) socket.unshift(rest)
    answered(failure)
  }
  const read = contained(container, (bytes: Buffer) => {
    length += bytes.length
    const fault = parser.feed(bytes, bytes.length)
    const { head, consumed } = parser
    if (head === undefined) {
      if (fault !== undefined || length > maxHeadBytes) over(new TunnelRefused({ status: undefined }))
    } else if (head.status < 200 || head.status > 299) over(new TunnelRefused({ status: head.status }))
    else if (consumed < bytes.length && !mayBegin) over(new TunnelRefused({ status: undefined }))
    else over(undefined, consumed < bytes.length ? bytes.subarray(consumed) : undefined)
  })
  const ended = contained(container, () => over(new ConnectionClosed()))
  socket.on("data", read).once("end", ended)
  socket.write(`CONNECT ${authority} HTTP/1.1\r\nhost: ${authority}\r\n${authorizationLine(tunnel)}\r\n`, "latin1")
}
