/** What `frontendPolicies.http` and `tcp` say, in the words of the listener and of the engine. */
import { defaultLimits, type Limits } from "../../../layers/http/listener.ts"
import { defaultBodyLimit } from "../../pipeline/exchange.ts"
import type { Frontends } from "../../routing/normalised.ts"
import { probesOf } from "../../services/upstreams.ts"

export interface Frontend {
  readonly limits: Limits
  /** The same where there are tunnels alone. */
  readonly tunnelLimits: Limits
  /** Milliseconds for which nothing may move on a connection that is passed on; `undefined`: any time. */
  readonly streamIdleTimeout: number | undefined
  /** The most bytes of a body that are held in memory where no policy says otherwise. */
  readonly bodyLimit: number
}

export const frontendOf = ({ http, tcp, connect }: Frontends): Frontend => {
  const idleTimeout = http?.http1IdleTimeout ?? defaultLimits.idleTimeout
  const limits: Limits = {
    paths: http?.paths ?? defaultLimits.paths,
    maxHeaders: http?.http1MaxHeaders ?? defaultLimits.maxHeaders,
    connects: connect?.mode ?? defaultLimits.connects,
    idleTimeout,
    stallTimeout: http?.stallTimeout ?? Math.min(defaultLimits.stallTimeout, idleTimeout),
    headTimeout: http?.http1HeaderTimeout ?? Math.min(defaultLimits.headTimeout, idleTimeout),
    maxConnectionDuration: http?.maxConnectionDuration,
    probes: tcp?.keepalives === undefined ? defaultLimits.probes : probesOf(tcp.keepalives),
    http2: {
      window: http?.http2WindowSize,
      connectionWindow: http?.http2ConnectionWindowSize,
      frameSize: http?.http2FrameSize,
      maxHeaderSize: http?.http2MaxHeaderSize,
      pingInterval: http?.http2KeepaliveInterval,
      pingTimeout: http?.http2KeepaliveTimeout ?? defaultLimits.http2.pingTimeout
    }
  }
  return {
    limits,
    tunnelLimits: { ...limits, connects: "tunnels alone" },
    streamIdleTimeout: tcp?.idleTimeout,
    bodyLimit: http?.maxBufferSize ?? defaultBodyLimit
  }
}
