/** The codec of Gemini generateContent, towards providers: its clients are forwarded natively or not at all. */
import type { UpstreamCodec } from "../codec.ts"
import { decodeResponse } from "./decode-response.ts"
import { streamDecoder } from "./decode-stream.ts"
import { encodeRequest } from "./encode-request.ts"
import { decodeError } from "./error.ts"

export const geminiUpstream: UpstreamCodec = { encodeRequest, decodeResponse, streamDecoder, decodeError }
