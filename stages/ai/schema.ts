/** The wire shape of ai: what happens with model requests on a route or a backend. */
import { Schema } from "effect"
import {
  CelExpression,
  declared,
  JsonObject,
  object,
  optional,
  PromptCaching,
  PromptGuard,
  PromptMessage,
  ShortString
} from "../../spec/policy.ts"

const RouteType = Schema.Literals([
  "completions",
  "messages",
  "models",
  "passthrough",
  "detect",
  "responses",
  "embeddings",
  "realtime",
  "anthropicTokenCount",
  "generateContent",
  "geminiCountTokens",
  "rerank"
]).annotate({ identifier: "RouteType", description: "The interface that a path speaks." })

const Prompts = object("Prompts", "Messages to add to a conversation.", {
  prepend: optional(Schema.Array(PromptMessage), "Messages at its start."),
  append: optional(Schema.Array(PromptMessage), "Messages at its end.")
})

export const Ai = object("Ai", "What happens with model requests: guards, defaults, prompts, model names.", {
  promptGuard: optional(PromptGuard, "Guards over prompts and completions."),
  defaults: optional(JsonObject, "Fields of the request body to set where the client did not."),
  overrides: optional(JsonObject, "Fields of the request body to set always."),
  transformations: optional(
    Schema.Record(Schema.String, CelExpression),
    "Computed fields of the request body, before translation."
  ),
  finalTransformations: optional(
    Schema.Record(Schema.String, CelExpression),
    "Computed fields of the request body, after translation for the provider."
  ),
  prompts: optional(Prompts, "Messages to add to a conversation."),
  modelAliases: optional(
    Schema.Record(Schema.String, ShortString),
    "Other names for models; `*` in a name matches any text."
  ),
  promptCaching: optional(PromptCaching, "Marks where a provider may cache a prompt."),
  routes: optional(
    Schema.Record(Schema.String, RouteType),
    "What a path speaks, by its end; the longest one counts and `*` is any. Chat completions everywhere when left out."
  )
})

export const ai = declared(Ai, {
  places: ["route", "backend"],
  onRoute: "backend",
  decides: "content",
  joins: "fields",
  speaks: "llm",
  guards: ({ promptGuard: { request = [], response = [] } = {}, routes = {} }) =>
    request.length + response.length === 0 ? undefined : { path: ["promptGuard"], routes, routesAt: ["routes"] },
  doubts: ({ promptGuard: { response = [], streaming } = {} }) =>
    response.length === 0 || streaming === "Enabled"
      ? []
      : [
          {
            code: "unguarded-stream",
            path: ["promptGuard", "response"],
            message: "streamed answers are not read by these guards; set streaming: Enabled beside them",
            about: "key"
          }
        ]
})
