/** The translations without a conversation (embeddings, rerank, token counts): one request body, one answer, no stream. */
import type { ClientFormat, UpstreamFormat } from "../formats/format.ts"
import type { BodyTranslation } from "./body-translation.ts"
import { bedrockCountTokens } from "./count-tokens.ts"
import { cohereInvoke, nova, titan } from "./embeddings/bedrock.ts"
import { vertexPredict } from "./embeddings/vertex.ts"
import { bedrockRerank } from "./rerank/bedrock.ts"
import { vertexRank } from "./rerank/vertex.ts"

/** Client format, then provider format. A pair that is not here has no translation. */
export const bodyTranslations: { readonly [C in ClientFormat]?: { readonly [U in UpstreamFormat]?: BodyTranslation } } =
  {
    embeddings: { vertexPredict, titan, nova, cohereInvoke },
    rerank: { vertexRank, bedrockRerank },
    anthropicTokenCount: { bedrockCountTokens }
  }
