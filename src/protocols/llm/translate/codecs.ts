/** The codecs of the chat formats. What can be translated follows from this list and from the rules of the pairs. */
import type { ClientFormat, UpstreamFormat } from "../formats/format.ts"
import type { ClientCodec, UpstreamCodec } from "./codec.ts"
import { completionsClient, completionsUpstream } from "./completions/codec.ts"
import { converseUpstream } from "./converse/codec.ts"
import { geminiUpstream } from "./generate-content/codec.ts"
import { messagesClient, messagesUpstream } from "./messages/codec.ts"
import { responsesClient, responsesUpstream } from "./responses/codec.ts"

export const clientCodecs: { readonly [C in ClientFormat]?: ClientCodec } = {
  completions: completionsClient,
  messages: messagesClient,
  responses: responsesClient
}

export const upstreamCodecs: { readonly [U in UpstreamFormat]?: UpstreamCodec } = {
  completions: completionsUpstream,
  messages: messagesUpstream,
  responses: responsesUpstream,
  converse: converseUpstream,
  generateContent: geminiUpstream
}
