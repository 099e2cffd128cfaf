/** The wire shape of the model cost catalogue: what a model's tokens cost, by provider and model name. */
import { Result, Schema } from "effect"

/** US dollars per million tokens, exactly: a decimal string, so that no reader rounds it. */
const Rate = Schema.String.check(
  Schema.isPattern(/^[0-9]{1,9}(\.[0-9]{1,6})?$/u, {
    expected: 'a decimal string with at most 6 fraction digits, such as "0.15"'
  })
).annotate({ description: "US dollars per one million tokens, as a decimal string." })

const Rates = Schema.Struct({
  input: Schema.optionalKey(Rate),
  output: Schema.optionalKey(Rate),
  cacheRead: Schema.optionalKey(Rate),
  cacheWrite: Schema.optionalKey(Rate),
  reasoning: Schema.optionalKey(Rate),
  inputAudio: Schema.optionalKey(Rate),
  outputAudio: Schema.optionalKey(Rate)
}).annotate({
  identifier: "ModelRates",
  description: "Rates by kind of token. A kind without a rate is priced as its parent kind."
})

const Tier = Schema.Struct({
  contextOver: Schema.Int.check(Schema.isGreaterThanOrEqualTo(0)).annotate({
    description: "The tier prices requests whose context is larger than this many tokens."
  }),
  rates: Rates
}).annotate({ identifier: "ModelRateTier", description: "Rates that replace the base rates of the whole request." })

const Tiers = Schema.Array(Tier).check(
  Schema.makeFilter((tiers) =>
    tiers.every((tier, i) => i === 0 || tiers[i - 1]!.contextOver < tier.contextOver)
      ? undefined
      : "Expected tiers in strictly increasing order of contextOver"
  )
)

const Model = Schema.Struct({
  rates: Schema.optionalKey(Rates),
  tiers: Schema.optionalKey(Tiers),
  tags: Schema.optionalKey(Schema.Array(Schema.String))
}).annotate({ identifier: "CatalogModel", description: "What one model costs, and the formats it is known to speak." })

const Provider = Schema.Struct({
  models: Schema.Record(Schema.String, Model)
}).annotate({ identifier: "CatalogProvider", description: "The models of one provider." })

/** A catalogue file or inline value. Providers are keyed by their telemetry name (`aws.bedrock`), models by their exact name. */
export const ModelCatalog = Schema.Struct({
  providers: Schema.Record(Schema.String, Provider)
}).annotate({ identifier: "ModelCatalog", description: "Costs of models by provider." })

export type ModelCatalog = typeof ModelCatalog.Type
export type CatalogModel = typeof Model.Type
export type CatalogRates = typeof Rates.Type

const decode = Schema.decodeUnknownResult(ModelCatalog, { errors: "all", onExcessProperty: "error" })

/** A decoded catalogue, or all that is wrong with it, one problem a line. Unknown fields and numbers in place of strings are wrong. */
export const decodeCatalog = (json: unknown): Result.Result<ModelCatalog, string> =>
  Result.mapError(decode(json), (error) => error.message)
