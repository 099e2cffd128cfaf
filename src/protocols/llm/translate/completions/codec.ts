/** The codec of OpenAI chat completions, in both of its halves. */
import type { ClientCodec, UpstreamCodec } from "../codec.ts"
import { decodeRequest } from "./decode-request.ts"
import { decodeResponse } from "./decode-response.ts"
import { streamDecoder } from "./decode-stream.ts"
import { encodeRequest } from "./encode-request.ts"
import { encodeResponse } from "./encode-response.ts"
import { streamEncoder } from "./encode-stream.ts"
import { decodeError, encodeError } from "./error.ts"

export const completionsClient: ClientCodec = { decodeRequest, encodeResponse, streamEncoder, encodeError }
export const completionsUpstream: UpstreamCodec = { encodeRequest, decodeResponse, streamDecoder, decodeError }
