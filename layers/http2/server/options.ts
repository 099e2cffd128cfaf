/** What a session announces to its client, and what the runtime bounds by itself: what is set here is smaller than its default, or says why. */
import type { ServerOptions } from "node:http2"
import type { Limits } from "../../http/client-connection.ts"

/** Requests of one connection that may be under way. Without a number there is no limit. */
const maxConcurrentStreams = 100

/** Requests of more fields than they may have are answered, and counted; what their bytes may be bounds the number. */
const maxHeaderListPairs = 65_536

export type SessionOptions = Pick<
  ServerOptions,
  | "settings"
  | "maxHeaderListPairs"
  | "maxSessionInvalidFrames"
  | "maxSessionRejectedStreams"
  | "maxOutstandingPings"
  | "maxSettings"
  | "streamResetBurst"
  | "streamResetRate"
  | "strictSingleValueFields"
>

export const optionsOf = ({ http2 }: Limits, maxHeadBytes: number): SessionOptions => {
  const { window, frameSize, maxHeaderSize } = http2
  return {
    settings: {
      maxConcurrentStreams,
      maxHeaderListSize: maxHeaderSize ?? maxHeadBytes,
      enableConnectProtocol: true,
      ...(window === undefined ? {} : { initialWindowSize: window }),
      ...(frameSize === undefined ? {} : { maxFrameSize: frameSize })
    },
    maxHeaderListPairs,
    maxSessionInvalidFrames: 200,
    maxSessionRejectedStreams: 100,
    maxOutstandingPings: 4,
    maxSettings: 32,
    // Each of a flood of resets is two frames.
    streamResetBurst: 400,
    streamResetRate: 50,
    // What a backend sends twice reaches a client of HTTP/1.1 twice.
    strictSingleValueFields: false
  }
}
