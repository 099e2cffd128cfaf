/** Why a stream or a session ends, in the numbers of the protocol (RFC 9113 7). */
import { constants } from "node:http2"

export const code = {
  none: constants.NGHTTP2_NO_ERROR,
  internalError: constants.NGHTTP2_INTERNAL_ERROR,
  refused: constants.NGHTTP2_REFUSED_STREAM,
  cancel: constants.NGHTTP2_CANCEL,
  calm: constants.NGHTTP2_ENHANCE_YOUR_CALM
}
