/** Guards over prompts and completions: what they look at, and what they do with what they find. */
import { Schema } from "effect"
import { ConnectionPolicies, calling } from "./connection/policies.ts"
import { defaulted, exactlyOneOf, object, optional, required } from "./field.ts"
import { HeaderMatch, HeaderModifier, HeaderOrPseudo, Regex } from "./header.ts"
import { FailureMode } from "./location.ts"
import { Bytes, CelExpression, Count, LongString, ShortString, StatusCode } from "./primitives.ts"

/** The body of a refusal unless another one is configured. */
export const defaultRejection = "request rejected due to inappropriate content"

const Rejection = object("GuardRejection", "The answer to what a guard refuses.", {
  body: defaulted(Bytes, defaultRejection, "The body."),
  status: defaulted(StatusCode, 403, "The status."),
  headers: optional(HeaderModifier, "Changes of the headers.")
})

const Action = Schema.Literals(["reject", "audit"]).annotate({
  identifier: "GuardAction",
  description: "`reject` refuses what the guard finds; `audit` records it and lets it pass unchanged."
})

const remote = {
  action: defaulted(Action, "reject", "What happens with what the guard finds."),
  failureMode: defaulted(
    FailureMode,
    "failClosed",
    "What happens when the guard cannot be asked. It applies to `audit` as well."
  )
}

const policies = { policies: optional(ConnectionPolicies, "Policies of the connection to the guard.") }

const RegexRule = exactlyOneOf(
  "GuardRegexRule",
  "Something to look for.",
  {
    builtin: required(
      Schema.Literals(["ssn", "creditCard", "phoneNumber", "email", "caSin"]),
      "A kind of personal data."
    ),
    pattern: required(Regex, "A regular expression; here it may match any part of the text.")
  },
  { name: optional(ShortString, "Name of the rule in logs.") }
)

const RegexGuard = object("RegexGuard", "Looks for patterns in the text.", {
  action: defaulted(
    Schema.Literals(["mask", "reject", "audit"]),
    "mask",
    "`mask` replaces what is found, `reject` refuses, `audit` records. Streamed answers are not masked."
  ),
  rules: required(Schema.Array(RegexRule), "What to look for, in order.")
})

const WebhookGuard = object(
  "WebhookGuard",
  "Asks a server over HTTP: POST /request with prompts, POST /response with completions.",
  {
    target: required(calling("GuardTarget", "The server.", {}), "The server."),
    headers: optional(
      Schema.Record(HeaderOrPseudo, CelExpression),
      "Headers of the call, each an expression over the request of the client. `:path` replaces the path; a literal one is a quoted string."
    ),
    forwardHeaderMatches: optional(Schema.Array(HeaderMatch), "Headers of the client to pass on."),
    ...remote
  }
)

const OpenAiGuard = object("OpenAiModerationGuard", "Asks OpenAI's moderation.", {
  model: optional(ShortString, "Model of the moderation; `omni-moderation-latest` when left out."),
  ...policies,
  ...remote
})

const BedrockGuard = object("BedrockGuard", "Asks a guardrail of Amazon Bedrock.", {
  guardrailIdentifier: required(ShortString, "The guardrail."),
  guardrailVersion: required(ShortString, "Its version."),
  region: required(ShortString, "Its region."),
  ...policies,
  ...remote
})

const ModelArmorGuard = object("ModelArmorGuard", "Asks Google Model Armor.", {
  templateId: required(ShortString, "The template."),
  projectId: required(ShortString, "The project."),
  location: optional(ShortString, "The location; `us-central1` when left out."),
  ...policies,
  ...remote
})

const AzureEndpoint = Schema.String.check(
  Schema.isPattern(/^(?:https?:\/\/)?[\w.-]+(?::\d{1,5})?\/?$/, {
    expected: "a host name, as name.cognitiveservices.azure.com, or an http or https URL"
  })
)

const AzureGuard = object("AzureContentSafetyGuard", "Asks Azure AI Content Safety.", {
  endpoint: required(
    AzureEndpoint,
    "Host name of the resource, as `name.cognitiveservices.azure.com`, or its `http` or `https` URL."
  ),
  analyzeText: optional(
    object("AnalyzeText", "Settings of the text analysis.", {
      severityThreshold: optional(
        Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 7 }, { expected: "a severity between 0 and 7" })),
        "Severity from which text is refused."
      ),
      apiVersion: optional(ShortString, "Version of the interface."),
      blocklistNames: optional(Schema.Array(ShortString), "Block lists to apply."),
      haltOnBlocklistHit: optional(Schema.Boolean, "Whether a hit in a block list ends the analysis.")
    }),
    "Settings of the text analysis."
  ),
  detectJailbreak: optional(
    object("DetectJailbreak", "Settings of the jailbreak detection.", {
      apiVersion: optional(ShortString, "Version of the interface.")
    }),
    "Also looks for attempts to break out of the instructions."
  ),
  ...policies,
  ...remote
})

const kinds = {
  regex: required(RegexGuard, "Looks for patterns in the text."),
  webhook: required(WebhookGuard, "Asks a server."),
  bedrockGuardrails: required(BedrockGuard, "Asks a guardrail of Amazon Bedrock."),
  googleModelArmor: required(ModelArmorGuard, "Asks Google Model Armor."),
  azureContentSafety: required(AzureGuard, "Asks Azure AI Content Safety.")
}

const Scope = Schema.Literals(["systemPrompt", "messages", "toolOutput", "toolInput"]).annotate({
  identifier: "GuardScope",
  description: "A part of a prompt."
})

const defaultScope = ["systemPrompt", "messages"] as const

const isDefault = (scope: ReadonlyArray<string>) =>
  scope.length === defaultScope.length && defaultScope.every((part) => scope.includes(part))

/** A guard over prompts. */
export const RequestGuard = exactlyOneOf(
  "RequestGuard",
  "A guard over prompts.",
  { ...kinds, openAIModeration: required(OpenAiGuard, "Asks OpenAI's moderation.") },
  {
    rejection: defaulted(Rejection, {}, "The answer to what the guard refuses."),
    scope: defaulted(
      Schema.Array(Scope).check(Schema.isMinLength(1, { expected: "at least one part" })),
      defaultScope,
      "Parts of the prompt that are looked at. Other than the default for `regex` and `bedrockGuardrails` only."
    )
  },
  {
    check: (guard) => {
      if (guard.scope === undefined || guard.scope.length === 0 || isDefault(guard.scope)) return undefined
      const kind = ["webhook", "openAIModeration", "googleModelArmor", "azureContentSafety"].find((key) => key in guard)
      return kind === undefined
        ? undefined
        : { path: ["scope"], issue: `${kind} looks at systemPrompt and messages only` }
    }
  }
)

/** A guard over completions. */
export const ResponseGuard = exactlyOneOf("ResponseGuard", "A guard over completions.", kinds, {
  rejection: defaulted(Rejection, {}, "The answer in place of what the guard refuses.")
})

/** Guards over prompts and completions. */
export const PromptGuard = object("PromptGuard", "Guards over prompts and completions.", {
  streaming: defaulted(
    Schema.Literals(["Disabled", "Enabled"]),
    "Disabled",
    "Whether streamed completions are looked at: window by window, each of about 1,024 bytes of text and held back until then. One that a guard refuses ends the stream with an event that clients take for an error. What would be masked passes as it is."
  ),
  request: optional(Schema.Array(RequestGuard), "Guards over prompts, in order; the first refusal counts."),
  response: optional(Schema.Array(ResponseGuard), "Guards over completions, in order; the first refusal counts.")
})

export type PromptGuard = typeof PromptGuard.Type

/** Places where a provider may cache a prompt. */
export const PromptCaching = object("PromptCaching", "Marks where Amazon Bedrock may cache a prompt.", {
  cacheSystem: defaulted(Schema.Boolean, true, "Mark the end of the system prompt."),
  cacheMessages: defaulted(Schema.Boolean, true, "Mark the conversation."),
  cacheTools: defaulted(Schema.Boolean, false, "Mark the end of the tools."),
  minTokens: defaulted(Count, 1024, "Fewest tokens that are worth a mark."),
  cacheMessageOffset: defaulted(Count, 0, "How many messages further up the conversation is marked.")
})

/** A message to add to a conversation. */
export const PromptMessage = object("PromptMessage", "A message of a conversation.", {
  role: required(LongString, "Who speaks: `system`, `user`, and so on."),
  content: required(Schema.String, "What is said.")
})
