/** The codec of Bedrock Converse, which only providers speak. */
import type { UpstreamCodec } from "../codec.ts"
import { decodeResponse } from "./decode-response.ts"
import { streamDecoder } from "./decode-stream.ts"
import { encodeRequest } from "./encode-request.ts"
import { decodeError } from "./error.ts"

export const converseUpstream: UpstreamCodec = { encodeRequest, decodeResponse, streamDecoder, decodeError }
