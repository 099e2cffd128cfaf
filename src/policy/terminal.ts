/**
 * What a terminal is written with beside what policies are: its own contract, calls to backends, and the services of those who serve more than
 * a request. No part of `headgate/policy`: a program brings policies of its own, not backends.
 */

// The shapes of what a file says of backends.
export type { PromptCaching, PromptGuard, PromptMessage } from "../../spec/guardrails.ts"
export type { VirtualModel } from "../../spec/models.ts"
export type { MockParams } from "../../spec/standalone/llm.ts"
export type { McpEndpoint } from "../../spec/standalone/mcp.ts"
export { type Address, formatAddress, HostPort, parseUrl } from "../../spec/target.ts"
export { doubtOf } from "../cel/json-text.ts"
export type { HostVariable } from "../cel/phases.ts"
// Bodies and JSON of backends.
export { contentCodings, decoded } from "../http/content-coding.ts"
export { queryCarrier } from "../http/credential.ts"
export { formatTraceparent } from "../http/trace-context.ts"
// Attempts at a backend with several endpoints.
export { elsewhere, elsewhereAnew, mostRepeated } from "../pipeline/attempts.ts"
export { bearerOf } from "../pipeline/authentication/token.ts"
export { CallTimes } from "../pipeline/call-times.ts"
export { Capture } from "../pipeline/capture.ts"
export type { ConnectionOptions } from "../pipeline/connection-policy.ts"
export { within } from "../pipeline/deadline.ts"
export { compileDocumentCall } from "../pipeline/document-call.ts"
export { defaultBodyLimit } from "../pipeline/exchange.ts"
export { fingerprint } from "../pipeline/fingerprint.ts"
export { mcpAuthorizer } from "../pipeline/mcp-rules.ts"
export { type OutboundWatch, WatchCalls } from "../pipeline/outbound.ts"
export type { Passage } from "../pipeline/passage.ts"
export { placeLabels, placeOf } from "../pipeline/record.ts"
export { type CompiledStreams, noneHealthy, type StreamEndpoint } from "../pipeline/relay.ts"
export { revealedText } from "../pipeline/revealed.ts"
export { type Asking, type Caller, type Reference, SubCalls } from "../pipeline/sub-calls.ts"
// The contract.
export { type Call, type CompiledBackend, type TerminalNode, terminal } from "../pipeline/terminal.ts"
export { type Afterwards, instead, type Left, type OptionalNode, TerminalGraph } from "../pipeline/terminal-graph.ts"
// Calls to backends, within their time, and watched.
export { callUpstream, ownAuthority, timeoutOf } from "../pipeline/upstream-call.ts"
export { Discovery, type EndpointSet, type ServiceEndpoint } from "../services/discovery.ts"
// Services.
export { type DocumentKind, Documents } from "../services/documents.ts"
export { Files } from "../services/files.ts"
export { Kept, KeptKind } from "../services/kept.ts"
export { Log } from "../services/log.ts"
export { McpStdio, type McpStdioCommand } from "../services/mcp-stdio.ts"
export { Metrics, type Series } from "../services/metrics.ts"
export { Random } from "../services/random.ts"
export { Timer } from "../services/timer.ts"
export { Tokenizer } from "../services/tokenizer.ts"
export {
  type Chosen,
  callTimeout,
  type Streams,
  shownBy,
  type Upstream,
  type UpstreamOptions,
  Upstreams,
  type UpstreamTimedOut
} from "../services/upstreams.ts"
