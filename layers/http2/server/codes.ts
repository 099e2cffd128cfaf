/** Why a stream or a session ends, in the numbers of the protocol (RFC 9113 7). */
import { constants } from "node:http2"

export const code = {
  none: constants.NGHTTP2_NO_ERROR,
  internalError: constants.NGHTTP2_INTERNAL_ERROR,
  refused: constants.NGHTTP2_REFUSED_STREAM,
  /**
   * Never `CANCEL`: the runtime puts such a reset off while it reads, loses it when the stream is destroyed meanwhile, goes on sending
   * that stream, and ends the whole process at its end, if that awaits trailers (node 26.10, `Http2Stream::OnTrailers`).
   */
  cut: constants.NGHTTP2_INTERNAL_ERROR,
  calm: constants.NGHTTP2_ENHANCE_YOUR_CALM
}
