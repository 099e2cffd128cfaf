/** The wire shape of apiKey: known keys and what they stand for. */
import { Schema } from "effect"
import {
  AuthenticationMode,
  bearer,
  CredentialLocation,
  declared,
  defaulted,
  exactlyOneOf,
  JsonObject,
  object,
  optional,
  required,
  Secret
} from "../../spec/policy.ts"

const KeyHash = Schema.String.check(
  Schema.isPattern(/^sha256:[0-9A-Fa-f]{64}$/u, { expected: "sha256: and 64 hexadecimal digits" })
).annotate({
  identifier: "KeyHash",
  description: "The SHA-256 digest of a key, `sha256:<hex>`.",
  // Somebody will write the key itself here.
  secret: true
})

const ModelPattern = Schema.String.check(
  Schema.isPattern(/^(?:\*?[^*]+|[^*]+\*|\*)$/u, {
    expected: "a model name with at most one *, at its start or its end"
  })
).annotate({ identifier: "ModelPattern", description: "A model name: exact, `prefix*`, `*suffix`, or `*`." })

const ApiKeyEntry = exactlyOneOf(
  "ApiKeyEntry",
  "One key.",
  {
    key: required(Secret, "The key itself. It is hashed when the configuration is loaded."),
    keyHash: required(KeyHash, "The digest of the key, so that the configuration does not hold the key.")
  },
  {
    metadata: optional(JsonObject, "What is known of the owner; readable in expressions as `apiKey.<field>`."),
    allowedModels: optional(
      Schema.Array(ModelPattern),
      "Models that the key may use. Left out: all of them; an empty list: none."
    )
  }
)

export const ApiKey = object("ApiKey", "Recognises callers by a key. A refusal answers 401.", {
  mode: defaulted(AuthenticationMode, "optional", "How strictly a key is asked for."),
  location: defaulted(
    CredentialLocation,
    bearer,
    "Where the key stands. It is removed from the request once it is accepted."
  ),
  keys: required(Schema.Array(ApiKeyEntry), "The keys that are known.")
})

export const apiKey = declared(ApiKey, {
  places: ["gateway", "route", "llm", "ui"],
  decides: "identity",
  admitsAnyone: ({ mode }) => mode !== "strict"
})
