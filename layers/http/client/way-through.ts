/** What leads from a connection to a proxy to one to the backend behind it: a tunnel, and TLS inside of it. */
import type { Socket } from "node:net"
import type { Address } from "../../../spec/target.ts"
import { type Container, contained } from "../../../src/services/contained.ts"
import type { FixedTunnel, UpstreamTls } from "../../../src/services/upstreams.ts"
import type { Offered } from "./dial.ts"
import { ConnectionClosed, TunnelPointless } from "./failures.ts"
import { askForTunnel, isTunnelled } from "./proxy.ts"
import { TlsSessions } from "./tls-sessions.ts"

/** @param stands told that the way is open. @param failed told why there is none. */
export type WayThrough = (
  proxy: Socket,
  offered: Offered | "bytes",
  container: Container,
  failed: (error: Error) => void,
  stands: (way: Socket) => void
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
  if (target.kind === "unix") return (_, __, ___, failed) => failed(new TunnelPointless())
  if (!isTunnelled(target, tunnel, tls)) return undefined
  const host = target.host.replace(/^\[|\]$/g, "")
  const secured = tls && new TlsSessions(host, tls, wall)
  return (proxy, offered, container, failed, stands) => {
    askForTunnel(proxy, target, tunnel, offered === "2" && tls === undefined, container, (failure) => {
      if (failure !== undefined) {
        failed(failure)
        return
      }
      if (secured === undefined) {
        stands(proxy)
        return
      }
      const { socket: way, verified } = secured.connect({ socket: proxy }, offered, container)
      const broken = contained(container, failed)
      const closed = contained(container, () => failed(new ConnectionClosed()))
      const secure = contained(container, () => {
        way.off("error", broken).off("close", closed)
        verified()
        stands(way)
      })
      way.on("error", broken).on("close", closed).once("secureConnect", secure)
    })
  }
}

/** Towards the proxy. */
export const tlsOfProxy = ({ proxy, tls }: FixedTunnel): UpstreamTls | undefined =>
  tls ?? (proxy.kind === "tcp" && proxy.tls ? { verify: "everything" } : undefined)
