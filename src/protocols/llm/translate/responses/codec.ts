/** The codec of OpenAI responses, in both of its halves; its errors are those of chat completions. */
import type { ClientCodec, UpstreamCodec } from "../codec.ts"
import { decodeError, encodeError } from "../completions/error.ts"
import { decodeRequest } from "./decode-request.ts"
import { decodeResponse } from "./decode-response.ts"
import { streamDecoder } from "./decode-stream.ts"
import { encodeRequest } from "./encode-request.ts"
import { encodeResponse } from "./encode-response.ts"
import { streamEncoder } from "./encode-stream.ts"

export const responsesClient: ClientCodec = { decodeRequest, encodeResponse, streamEncoder, encodeError }
export const responsesUpstream: UpstreamCodec = { encodeRequest, decodeResponse, streamDecoder, decodeError }
