/** What leads from a connection to a proxy to one to the backend behind it: a tunnel, and TLS inside of it. */
import type { Socket } from "node:net"
import type { Address } from "../../../spec/target.ts"
import { type Container, contained } from "../../../src/services/contained.ts"
import type { FixedTunnel, UpstreamTls } from "../../../src/services/upstreams.ts"
import type { Standing } from "./dial.ts"
import { ConnectionClosed, TunnelPointless } from "./failures.ts"
import { askForTunnel, isTunnelled } from "./proxy.ts"
import { TlsSessions } from "./tls-sessions.ts"

/** @param stands makes the connection. @param failed told why there is none. */
export type WayThrough = (
  proxy: Socket,
  container: Container,
  failed: (error: Error) => void,
  stands: (way: Socket) => Standing
) => void

/**
 * `undefined` where the proxy itself is asked.
 * @param wall the time by which certificates expire.
 */
export const wayThrough = (
  target: Address,
  tunnel: FixedTunnel,
  tls: UpstreamTls | undefined,
  wall: () => number
): WayThrough | undefined => {
  if (target.kind === "unix") return (_, __, failed) => failed(new TunnelPointless())
  if (!isTunnelled(target, tunnel, tls)) return undefined
  const host = target.host.replace(/^\[|\]$/g, "")
  const secured = tls && new TlsSessions(host, tls, wall)
  return (proxy, container, failed, stands) => {
    const reached = (way: Socket) => {
      const standing = stands(way)
      if (standing.received === undefined) return
      const read = contained(standing, (bytes: Buffer) => standing.received?.(bytes, bytes.length))
      way.on("data", read).resume()
    }
    askForTunnel(proxy, target, tunnel, container, (failure) => {
      if (failure !== undefined) {
        failed(failure)
        return
      }
      if (secured === undefined) {
        reached(proxy)
        return
      }
      const { socket: way, verified } = secured.connect({ socket: proxy }, container)
      const broken = contained(container, failed)
      const closed = contained(container, () => failed(new ConnectionClosed()))
      const secure = contained(container, () => {
        way.off("error", broken).off("close", closed)
        verified()
        reached(way)
      })
      way.on("error", broken).on("close", closed).once("secureConnect", secure)
    })
  }
}

/** Towards the proxy. */
export const tlsOfProxy = ({ proxy, tls }: FixedTunnel): UpstreamTls | undefined =>
  tls ?? (proxy.kind === "tcp" && proxy.tls ? { verify: "everything" } : undefined)
