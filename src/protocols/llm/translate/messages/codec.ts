/** The codec of Anthropic messages, in both of its halves. */
import type { ClientCodec, UpstreamCodec } from "../codec.ts"
import { decodeRequest } from "./decode-request.ts"
import { decodeResponse } from "./decode-response.ts"
import { streamDecoder } from "./decode-stream.ts"
import { encodeRequest } from "./encode-request.ts"
import { encodeResponse } from "./encode-response.ts"
import { streamEncoder } from "./encode-stream.ts"
import { decodeError, encodeError } from "./error.ts"

export const messagesClient: ClientCodec = { decodeRequest, encodeResponse, streamEncoder, encodeError }
export const messagesUpstream: UpstreamCodec = { encodeRequest, decodeResponse, streamDecoder, decodeError }
