/**
 * Every policy and terminal that the proxy knows, and the order in which policies run in each phase. Adding a policy is
 * one line in the list and one in each order that it takes part in; the compiler says which are missing.
 */
import type { ConnectionPolicy } from "../src/pipeline/connection-policy.ts"
import type { ListenerPolicy } from "../src/pipeline/listener-policy.ts"
import { registry, terminalsBehind } from "../src/pipeline/registry.ts"
import { apiKey } from "./api-key/stage.ts"
import { authorization } from "./authorization/stage.ts"
import { backendAuth } from "./backend-auth/stage.ts"
import { backendDynamic } from "./backend-dynamic/stage.ts"
import { backendHost } from "./backend-host/stage.ts"
import { backendAi } from "./backend-llm/ai.ts"
import { backendLlm } from "./backend-llm/stage.ts"
import { backendMcp } from "./backend-mcp/stage.ts"
import { backendService } from "./backend-service/stage.ts"
import { backendTLS } from "./backend-tls/stage.ts"
import { backendTunnel } from "./backend-tunnel/stage.ts"
import { basicAuth } from "./basic-auth/stage.ts"
import { buffer } from "./buffer/stage.ts"
import { cors } from "./cors/stage.ts"
import { csrf } from "./csrf/stage.ts"
import { delay } from "./delay/stage.ts"
import { directResponse } from "./direct-response/stage.ts"
import { health } from "./health/stage.ts"
import { hostRewrite } from "./host-rewrite/stage.ts"
import { http } from "./http/stage.ts"
import { jwtAuth } from "./jwt-auth/stage.ts"
import { localRateLimit } from "./local-rate-limit/stage.ts"
import { mcpAuthentication } from "./mcp-authentication/stage.ts"
import { mcpAuthorization } from "./mcp-authorization/stage.ts"
import { networkAuthorization } from "./network-authorization/stage.ts"
import { proxyProtocol } from "./proxy-protocol/stage.ts"
import { requestHeaderModifier } from "./request-header-modifier/stage.ts"
import { requestMirror } from "./request-mirror/stage.ts"
import { requestRedirect } from "./request-redirect/stage.ts"
import { responseHeaderModifier } from "./response-header-modifier/stage.ts"
import { retry } from "./retry/stage.ts"
import { sessionAffinity } from "./session-affinity/stage.ts"
import { tcp } from "./tcp/stage.ts"
import { timeout } from "./timeout/stage.ts"
import { transformations } from "./transformations/stage.ts"
import { urlRewrite } from "./url-rewrite/stage.ts"

export const policies = registry(
  [
    apiKey,
    authorization,
    backendAuth,
    basicAuth,
    buffer,
    cors,
    csrf,
    delay,
    directResponse,
    health,
    hostRewrite,
    jwtAuth,
    localRateLimit,
    mcpAuthentication,
    mcpAuthorization,
    networkAuthorization,
    requestHeaderModifier,
    requestMirror,
    requestRedirect,
    responseHeaderModifier,
    retry,
    sessionAffinity,
    timeout,
    transformations,
    urlRewrite
  ],
  {
    connection: ["networkAuthorization"],
    gateway: [
      // Before any authentication: a preflight carries no credential, and refusals need CORS headers too.
      "cors",
      "jwtAuth",
      "basicAuth",
      "apiKey",
      // After everything that may say who asks.
      "authorization",
      // Last: what it makes of the request is what a route is chosen for.
      "transformations"
    ],
    route: [
      // Its clock has been running since the request arrived; what follows counts.
      "timeout",
      "cors",
      "mcpAuthentication",
      "jwtAuth",
      "basicAuth",
      "apiKey",
      "authorization",
      // Whether a request may be repeated is said of the one that came, before anything changes it.
      "retry",
      // After authorization: who may not pass draws on no budget.
      "localRateLimit",
      // After authentication and limits: only then is a body worth holding.
      "buffer",
      // After what bounds the bodies that it may read, before what is said of single headers.
      "transformations",
      // After authentication and limits, as documented; before anything else changes the authority that it compares with.
      "csrf",
      "responseHeaderModifier",
      "requestHeaderModifier",
      "hostRewrite",
      // Before a redirect, which may point at what was rewritten.
      "urlRewrite",
      "requestRedirect",
      // Whoever is refused or sent elsewhere is told at once.
      "delay",
      // Last, so that everything that may refuse has had its say.
      "directResponse",
      // What no backend is asked, nobody gets a copy of.
      "requestMirror"
    ],
    backend: [
      "authorization",
      "mcpAuthorization",
      // Before the credential, which may stand in the query: who is sent elsewhere is told the query.
      "requestRedirect",
      // Before the credential, which is for the backend alone.
      "requestMirror",
      // After everything that may refuse, and before what may change the headers of the call.
      "backendAuth",
      "transformations",
      "requestHeaderModifier",
      "responseHeaderModifier",
      // After everything that may change what it reads, before the endpoint is chosen.
      "sessionAffinity",
      "health"
    ],
    call: [],
    backendResponse: [],
    response: [
      "route responseHeaderModifier",
      "backend responseHeaderModifier",
      // After the headers are settled, before anything transforms the body.
      "route buffer",
      // In the documented order: the gateway has the last word.
      "route transformations",
      "backend transformations",
      "gateway transformations"
    ]
  }
)

/** What connections to backends are opened by. The list has no order that matters: no two of them say the same thing. */
export const connections: ReadonlyArray<ConnectionPolicy> = [backendTLS, backendTunnel, http, tcp]

/** What connections of clients are taken by. */
export const listeners: ReadonlyArray<ListenerPolicy> = [proxyProtocol]

export const terminals = terminalsBehind(policies, [
  backendAi,
  backendDynamic,
  backendHost,
  backendLlm,
  backendMcp,
  backendService
])
