/** Every policy of the configuration language, as it declares itself: its wire shape, the places where it may be written, what it decides. */
import type { PolicySpecs } from "../spec/standalone/policies.ts"
import { a2a } from "./a2a/schema.ts"
import { accessLog } from "./access-log/schema.ts"
import { ai } from "./ai/schema.ts"
import { apiKey } from "./api-key/schema.ts"
import { authorization } from "./authorization/schema.ts"
import { backendAuth } from "./backend-auth/schema.ts"
import { backendTLS } from "./backend-tls/schema.ts"
import { backendTunnel } from "./backend-tunnel/schema.ts"
import { basicAuth } from "./basic-auth/schema.ts"
import { buffer } from "./buffer/schema.ts"
import { cors } from "./cors/schema.ts"
import { csrf } from "./csrf/schema.ts"
import { delay } from "./delay/schema.ts"
import { directResponse } from "./direct-response/schema.ts"
import { extAuthz } from "./ext-authz/schema.ts"
import { extProc } from "./ext-proc/schema.ts"
import { health } from "./health/schema.ts"
import { hostRewrite } from "./host-rewrite/schema.ts"
import { http } from "./http/schema.ts"
import { inferenceRouting } from "./inference-routing/schema.ts"
import { jwtAuth } from "./jwt-auth/schema.ts"
import { localRateLimit } from "./local-rate-limit/schema.ts"
import { mcpAuthentication } from "./mcp-authentication/schema.ts"
import { mcpAuthorization } from "./mcp-authorization/schema.ts"
import { mcpGuardrails } from "./mcp-guardrails/schema.ts"
import { networkAuthorization } from "./network-authorization/schema.ts"
import { networkExtAuthz } from "./network-ext-authz/schema.ts"
import { oidc } from "./oidc/schema.ts"
import { proxyProtocol } from "./proxy-protocol/schema.ts"
import { remoteRateLimit } from "./remote-rate-limit/schema.ts"
import { requestHeaderModifier } from "./request-header-modifier/schema.ts"
import { requestMirror } from "./request-mirror/schema.ts"
import { requestRedirect } from "./request-redirect/schema.ts"
import { responseHeaderModifier } from "./response-header-modifier/schema.ts"
import { retry } from "./retry/schema.ts"
import { sessionAffinity } from "./session-affinity/schema.ts"
import { tcp } from "./tcp/schema.ts"
import { timeout } from "./timeout/schema.ts"
import { tracing } from "./tracing/schema.ts"
import { transformations } from "./transformations/schema.ts"
import { urlRewrite } from "./url-rewrite/schema.ts"

/** By configuration name. The order is the one of the reference pages, not that of the phases. */
export const schemas = {
  proxyProtocol,
  networkAuthorization,
  networkExtAuthz,
  accessLog,
  tracing,
  cors,
  oidc,
  jwtAuth,
  mcpAuthentication,
  basicAuth,
  apiKey,
  extAuthz,
  authorization,
  localRateLimit,
  remoteRateLimit,
  buffer,
  extProc,
  transformations,
  csrf,
  timeout,
  retry,
  delay,
  requestHeaderModifier,
  responseHeaderModifier,
  hostRewrite,
  urlRewrite,
  requestRedirect,
  requestMirror,
  directResponse,
  backendTLS,
  backendAuth,
  backendTunnel,
  http,
  tcp,
  health,
  sessionAffinity,
  inferenceRouting,
  mcpAuthorization,
  mcpGuardrails,
  a2a,
  ai
} as const satisfies PolicySpecs

/** A name under which a policy is configured. */
export type PolicyName = keyof typeof schemas

/** What a policy decodes to. */
export type PolicyConfig<Name extends PolicyName> = (typeof schemas)[Name]["schema"]["Type"]
