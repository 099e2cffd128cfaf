/** The model catalogue: what models cost and which formats they speak. */
import { Schema } from "effect"
import { exactlyOneOf, object, optional, required } from "../field.ts"
import { Count, LongString, ShortString } from "../primitives.ts"

const Rate = Schema.String.check(
  Schema.isPattern(/^[0-9]{1,12}(?:\.[0-9]{1,6})?$/u, {
    expected: 'a decimal string with at most 6 digits after the point, such as "0.15"'
  })
).annotate({
  identifier: "Rate",
  description: "US dollars per million tokens, a decimal string with at most 6 digits after the point."
})

const Rates = object("Rates", "Prices per million tokens.", {
  input: optional(Rate, "Input tokens."),
  output: optional(Rate, "Output tokens."),
  cacheRead: optional(Rate, "Input tokens read from the cache of the provider."),
  cacheWrite: optional(Rate, "Input tokens written to the cache of the provider."),
  reasoning: optional(Rate, "Reasoning tokens; the output rate when left out."),
  inputAudio: optional(Rate, "Audio input tokens; the input rate when left out."),
  outputAudio: optional(Rate, "Audio output tokens; the output rate when left out.")
})

const Tier = object("Tier", "Prices for large contexts.", {
  contextOver: required(Count, "The tier applies to requests with more context tokens than this."),
  rates: required(Rates, "Prices that replace the base ones for the whole request.")
})

const rising = Schema.makeFilter(
  (tiers: ReadonlyArray<typeof Tier.Type>) => {
    const at = tiers.findIndex((tier, index) => index > 0 && tier.contextOver <= tiers[index - 1]!.contextOver)
    return at === -1 ? undefined : { path: [at, "contextOver"], issue: "must be more than that of the tier before" }
  },
  { expected: "rising thresholds" }
)

const CatalogModel = object("CatalogModel", "A model of a provider.", {
  rates: optional(Rates, "Base prices."),
  tiers: optional(Schema.Array(Tier).check(rising), "Prices for large contexts, with rising thresholds."),
  tags: optional(Schema.Array(ShortString), "Marks of the model, for example the formats it speaks.")
})

/** Prices and formats of models, by provider. */
export const Catalog = object("Catalog", "Prices and formats of models.", {
  providers: optional(
    Schema.Record(
      Schema.String,
      object("CatalogProvider", "The models of one provider.", {
        models: optional(Schema.Record(Schema.String, CatalogModel), "Models by their exact name.")
      })
    ),
    "Providers by their name in telemetry."
  )
})

/** One source of the catalogue; later ones win. */
export const ModelCatalogSource = exactlyOneOf("ModelCatalogSource", "A source of the model catalogue.", {
  file: required(LongString, "A JSON file; it is watched."),
  inline: required(Schema.Union([Schema.String, Catalog]), "The catalogue itself, as an object or as JSON text.")
})
