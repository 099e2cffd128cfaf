/**
 * Which variables an expression may read, in which phase, as data.
 *
 * | phase | evaluates | variables |
 * |---|---|---|
 * | `network` | rules on a connection | source, env |
 * | `gateway` | policies before a route is chosen | request, source, destination, jwt, apiKey, basicAuth, extauthz, extproc, mcpGuardrails, metadata, proxy, env |
 * | `route` | policies of the route | as `gateway` |
 * | `backend` | policies of a backend call | as `gateway`, and backend |
 * | `mcp` | authorization of a tool, prompt or resource | as `backend` without it, and mcp |
 * | `llm` | policies and guards on a model request | as `gateway`, and llm, llmRequest |
 * | `response` | policies on the response, retry conditions | as `backend`, and response, llm |
 * | `log` | access log, metrics, span attributes, health | as `response`, and mcp |
 *
 * A variable that exists in a phase but was not set by this request reads like an object without fields: `jwt.sub` is a missing key,
 * `has(jwt.sub)` is false, `jwt == null` is true.
 */
import { type Fields, type HostOf, open, type Struct, struct } from "./schema.ts"

export const phases = ["network", "gateway", "route", "backend", "mcp", "llm", "response", "log"] as const
export type Phase = (typeof phases)[number]

const everywhere = phases
const request: ReadonlyArray<Phase> = ["gateway", "route", "backend", "mcp", "llm", "response", "log"]
const backend: ReadonlyArray<Phase> = ["backend", "response", "log"]
const response: ReadonlyArray<Phase> = ["response", "log"]
const log: ReadonlyArray<Phase> = ["log"]

/** A variable: its shape, the phases that know it, and one line of documentation. */
export interface Variable<S extends Struct = Struct> {
  readonly struct: S
  readonly phases: ReadonlyArray<Phase>
  readonly doc: string
}

const variable = <S extends Struct>(phases: ReadonlyArray<Phase>, doc: string, struct: S): Variable<S> => ({
  struct,
  phases,
  doc
})

const string = <const D extends string>(doc: D) => ({ type: "string", doc }) as const
const int = <const D extends string>(doc: D) => ({ type: "int", doc }) as const
const usd = <const D extends string>(doc: D) => ({ type: "double", doc: `${doc}, in US dollars` }) as const

const costs = {
  input: usd("Prompt tokens"),
  output: usd("Completion tokens"),
  cacheRead: usd("Tokens read from the prompt cache"),
  cacheWrite: usd("Tokens written to the prompt cache"),
  reasoning: usd("Reasoning tokens"),
  inputAudio: usd("Audio tokens of the prompt"),
  outputAudio: usd("Audio tokens of the completion")
} as const

const named = (what: string) =>
  struct({
    target: string(`The target that serves the ${what}`),
    name: string(`The name of the ${what}, without the prefix of its target`)
  })

const message = {
  headers: { type: "headers", doc: "Header fields; names in lower case" },
  body: {
    type: "bytes",
    doc: "The whole body; it is buffered when an expression reads it, null when it is over the limit"
  },
  bodyPrefix: { type: "bytes", doc: "The first bytes of the body, up to the limit" }
} as const satisfies Fields

/** Every variable of the language. */
export const variables = {
  request: variable(
    request,
    "The request as it stands, rewrites included",
    struct({
      method: string("HTTP method"),
      path: string("Path, without query"),
      host: string("Authority with port, as sent"),
      scheme: string("`http` or `https`"),
      version: string("`HTTP/1.1`, `HTTP/2`"),
      uri: { ...string("Full URI; `query`, `addQuery` and `setQuery` read and change its query"), query: true },
      pathAndQuery: { ...string("Path and query; same methods as `uri`"), query: true },
      ...message,
      startTime: { type: "timestamp", doc: "When the request arrived" },
      endTime: { type: "timestamp", doc: "When the response ended", phases: log }
    })
  ),
  response: variable(
    response,
    "The response",
    struct({
      code: int("Status code"),
      grpcStatus: int("gRPC status, from headers or trailers"),
      ...message
    })
  ),
  source: variable(
    everywhere,
    "The client's end of the connection",
    struct({
      address: string("IP address of the client"),
      port: int("Port of the client"),
      rawAddress: string("IP address of the TCP peer, before the PROXY protocol"),
      rawPort: int("Port of the TCP peer, before the PROXY protocol"),
      identity: {
        doc: "The workload that the verified client certificate names",
        type: struct({
          trustDomain: string("SPIFFE trust domain"),
          namespace: string("Kubernetes namespace"),
          serviceAccount: string("Kubernetes service account")
        })
      },
      spiffeId: string("SPIFFE identity of the verified client certificate"),
      subjectAltNames: { type: "strings", doc: "Subject alternative names of the verified client certificate" },
      issuer: string("Issuer of the verified client certificate"),
      subject: string("Subject of the verified client certificate"),
      subjectCn: string("Common name of the subject"),
      certificate: string("The verified client certificate as PEM"),
      unverifiedWorkload: {
        doc: "The workload that has the source address; not authenticated",
        type: struct({
          name: string("Name of the pod"),
          namespace: string("Namespace of the pod"),
          serviceAccount: string("Service account of the pod")
        })
      },
      connectHeaders: { type: "headers", doc: "Header fields of the CONNECT request that opened the tunnel" }
    })
  ),
  destination: variable(
    request,
    "The proxy's end of the connection",
    struct({
      address: string("IP address the client reached"),
      port: int("Port the client reached"),
      hostname: string("Server name of the TLS handshake")
    })
  ),
  jwt: variable(
    request,
    "The claims of the validated token",
    open("json", { rawToken: { type: "secret", doc: "The token itself; `unredacted()` gives its text" } })
  ),
  apiKey: variable(
    request,
    "The API key that was presented, and its metadata",
    open("json", { key: { type: "secret", doc: "The key itself; `unredacted()` gives its text" } })
  ),
  basicAuth: variable(request, "The user of basic authentication", struct({ username: string("User name") })),
  extauthz: variable(request, "Metadata that the external authorization returned", open("json", {})),
  extproc: variable(request, "Metadata that the external processor returned", open("json", {})),
  mcpGuardrails: variable(request, "Metadata that MCP guardrails returned", open("json", {})),
  metadata: variable(request, "Values set by the metadata of transformations", open("value", {})),
  llm: variable(
    ["llm", "response", "log"],
    "The model call",
    struct({
      streaming: { type: "bool", doc: "Whether the client asked for a stream" },
      requestModel: string("Model the client asked for"),
      provider: string("Provider that served the call"),
      params: {
        doc: "Parameters of the request",
        type: struct({
          temperature: { type: "json", doc: "Sampling temperature" },
          top_p: { type: "json", doc: "Nucleus sampling" },
          frequency_penalty: { type: "json", doc: "Frequency penalty" },
          presence_penalty: { type: "json", doc: "Presence penalty" },
          seed: { type: "json", doc: "Seed" },
          max_tokens: { type: "json", doc: "Limit of the completion" },
          encoding_format: { type: "json", doc: "Format of embeddings" },
          dimensions: { type: "json", doc: "Size of embeddings" }
        })
      },
      inputTokens: int("Tokens of the prompt"),
      responseModel: string("Model that answered"),
      outputTokens: int("Tokens of the completion"),
      totalTokens: int("Tokens of prompt and completion"),
      providerInputTokens: int("Prompt tokens as the provider counts them"),
      providerTotalTokens: int("All tokens as the provider counts them"),
      cachedInputTokens: int("Tokens read from the prompt cache"),
      cacheCreationInputTokens: int("Tokens written to the prompt cache"),
      reasoningTokens: int("Reasoning tokens"),
      inputImageTokens: int("Image tokens of the prompt"),
      inputTextTokens: int("Text tokens of the prompt"),
      inputAudioTokens: int("Audio tokens of the prompt"),
      outputImageTokens: int("Image tokens of the completion"),
      outputTextTokens: int("Text tokens of the completion"),
      outputAudioTokens: int("Audio tokens of the completion"),
      countTokens: int("Answer of a token count request"),
      serviceTier: string("Service tier"),
      timeToFirstToken: { type: "duration", doc: "Until the first token" },
      timePerOutputToken: { type: "duration", doc: "Mean per token after the first" },
      cost: { doc: "What the call cost", type: struct({ total: usd("The whole call"), ...costs }) },
      costRates: { doc: "The rates applied, for a million tokens each", type: struct(costs) },
      prompt: {
        type: "json",
        doc: "Messages of the prompt: list of role and content; kept when an expression reads it"
      },
      completion: { type: "json", doc: "Completions; kept when an expression reads it" },
      toolCalls: { type: "json", doc: "Tool calls: list of id, name and arguments; kept when an expression reads it" }
    })
  ),
  llmRequest: variable(["llm"], "The body of the model request, parsed", open("json", {})),
  mcp: variable(
    ["mcp", "log"],
    "The MCP call",
    struct({
      methodName: string("JSON-RPC method"),
      sessionId: string("Session"),
      tool: {
        doc: "The tool called or listed",
        type: struct({
          target: string("The target that serves the tool"),
          name: string("The name of the tool, without the prefix of its target"),
          arguments: { type: "json", doc: "Arguments of the call", phases: log },
          result: { type: "json", doc: "Result of the call", phases: log },
          error: { type: "json", doc: "Error of the call", phases: log }
        })
      },
      prompt: { doc: "The prompt fetched or listed", type: named("prompt") },
      resource: { doc: "The resource read or listed", type: named("resource") },
      task: { doc: "The task", type: named("task") }
    })
  ),
  backend: variable(
    backend,
    "The backend chosen",
    struct({
      name: string("Name"),
      type: string("`ai`, `mcp`, `static`, `dynamic`, `service` or `unknown`"),
      protocol: string("`http`, `tcp`, `a2a`, `mcp` or `llm`")
    })
  ),
  proxy: variable(
    request,
    "Where in the configuration the request is handled",
    struct({
      bind: string("The bind"),
      gateway: { doc: "The gateway", type: struct({ namespace: string("Namespace"), name: string("Name") }) },
      listener: { doc: "The listener", type: struct({ name: string("Name") }) },
      route: {
        doc: "The route",
        phases: ["route", "backend", "mcp", "llm", "response", "log"],
        type: struct({
          namespace: string("Namespace"),
          name: string("Name"),
          kind: string("Kind of the resource"),
          rule: string("Name of the rule")
        })
      },
      requestProcessingDuration: { type: "duration", doc: "Spent on the request in the proxy", phases: response },
      upstreamDuration: { type: "duration", doc: "Spent waiting for the backend", phases: response },
      responseProcessingDuration: { type: "duration", doc: "Spent on the response in the proxy", phases: log }
    })
  ),
  env: variable(
    everywhere,
    "The process",
    struct({
      podName: string("Name of the pod"),
      namespace: string("Namespace of the pod"),
      gateway: string("Name of the gateway")
    })
  )
} as const

export type VariableName = keyof typeof variables

/** What the host holds for a variable. */
export type HostVariable<Name extends VariableName> = HostOf<(typeof variables)[Name]["struct"]>
