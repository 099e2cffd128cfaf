/** Every policy of the configuration language with its wire shape and the places where it may be written. */
import type { PolicySpecs } from "../spec/standalone/policies.ts"
import { A2a } from "./a2a/schema.ts"
import { AccessLog } from "./access-log/schema.ts"
import { Ai } from "./ai/schema.ts"
import { ApiKey } from "./api-key/schema.ts"
import { Authorization } from "./authorization/schema.ts"
import { BackendAuth } from "./backend-auth/schema.ts"
import { BackendTls } from "./backend-tls/schema.ts"
import { BackendTunnel } from "./backend-tunnel/schema.ts"
import { BasicAuth } from "./basic-auth/schema.ts"
import { Buffer } from "./buffer/schema.ts"
import { Connect } from "./connect/schema.ts"
import { Cors } from "./cors/schema.ts"
import { Csrf } from "./csrf/schema.ts"
import { Delay } from "./delay/schema.ts"
import { DirectResponse } from "./direct-response/schema.ts"
import { ExtAuthz } from "./ext-authz/schema.ts"
import { ExtProc } from "./ext-proc/schema.ts"
import { Health } from "./health/schema.ts"
import { Http } from "./http/schema.ts"
import { InferenceRouting } from "./inference-routing/schema.ts"
import { JwtAuth } from "./jwt-auth/schema.ts"
import { LocalRateLimit } from "./local-rate-limit/schema.ts"
import { McpAuthentication } from "./mcp-authentication/schema.ts"
import { McpAuthorization } from "./mcp-authorization/schema.ts"
import { McpGuardrails } from "./mcp-guardrails/schema.ts"
import { NetworkAuthorization } from "./network-authorization/schema.ts"
import { NetworkExtAuthz } from "./network-ext-authz/schema.ts"
import { Oidc } from "./oidc/schema.ts"
import { ProxyProtocol } from "./proxy-protocol/schema.ts"
import { RemoteRateLimit } from "./remote-rate-limit/schema.ts"
import { RequestHeaderModifier } from "./request-header-modifier/schema.ts"
import { RequestMirror } from "./request-mirror/schema.ts"
import { RequestRedirect } from "./request-redirect/schema.ts"
import { ResponseHeaderModifier } from "./response-header-modifier/schema.ts"
import { Retry } from "./retry/schema.ts"
import { SessionAffinity } from "./session-affinity/schema.ts"
import { Tcp } from "./tcp/schema.ts"
import { Timeout } from "./timeout/schema.ts"
import { Tracing } from "./tracing/schema.ts"
import { Transformations } from "./transformations/schema.ts"
import { UrlRewrite } from "./url-rewrite/schema.ts"

/** By configuration name. The order is the one of the reference pages, not that of the phases. */
export const schemas = {
  proxyProtocol: { schema: ProxyProtocol, places: ["frontend"], alias: "proxy" },
  networkAuthorization: { schema: NetworkAuthorization, places: ["frontend"], decides: true },
  networkExtAuthz: { schema: NetworkExtAuthz, places: ["frontend"], decides: true },
  connect: { schema: Connect, places: ["frontend"] },
  accessLog: { schema: AccessLog, places: ["frontend"], alias: "logging" },
  tracing: { schema: Tracing, places: ["frontend"] },
  cors: { schema: Cors, places: ["gateway", "route", "llm", "ui"] },
  oidc: { schema: Oidc, places: ["gateway", "route", "llm", "ui"], decides: true },
  jwtAuth: { schema: JwtAuth, places: ["gateway", "route", "llm", "ui"], decides: true },
  mcpAuthentication: { schema: McpAuthentication, places: ["route"], decides: true },
  basicAuth: { schema: BasicAuth, places: ["gateway", "route", "llm", "ui"], decides: true },
  apiKey: { schema: ApiKey, places: ["gateway", "route", "llm", "ui"], decides: true },
  extAuthz: {
    schema: ExtAuthz,
    places: ["gateway", "route", "backend", "llm", "ui"],
    conditional: true,
    decides: true
  },
  authorization: { schema: Authorization, places: ["gateway", "route", "backend", "llm", "ui"], decides: true },
  localRateLimit: { schema: LocalRateLimit, places: ["route", "llm"], conditional: true, decides: true },
  remoteRateLimit: { schema: RemoteRateLimit, places: ["route", "llm"], conditional: true, decides: true },
  buffer: { schema: Buffer, places: ["route"] },
  extProc: { schema: ExtProc, places: ["gateway", "route", "llm"], conditional: true, decides: true },
  transformations: { schema: Transformations, places: ["gateway", "route", "backend", "llm"], conditional: true },
  csrf: { schema: Csrf, places: ["route", "ui"], decides: true },
  timeout: { schema: Timeout, places: ["route"] },
  retry: { schema: Retry, places: ["route"] },
  delay: { schema: Delay, places: ["route"] },
  requestHeaderModifier: { schema: RequestHeaderModifier, places: ["route", "backend"] },
  responseHeaderModifier: { schema: ResponseHeaderModifier, places: ["route", "backend"] },
  urlRewrite: { schema: UrlRewrite, places: ["route"] },
  requestRedirect: { schema: RequestRedirect, places: ["route", "backend"] },
  requestMirror: { schema: RequestMirror, places: ["route"] },
  directResponse: { schema: DirectResponse, places: ["route"], conditional: true },
  backendTLS: { schema: BackendTls, places: ["route", "tcpRoute", "backend", "tcpBackend"], onRoute: "backend" },
  backendAuth: { schema: BackendAuth, places: ["route", "backend"], onRoute: "backend" },
  backendTunnel: { schema: BackendTunnel, places: ["route", "backend", "tcpBackend"], onRoute: "backend" },
  http: { schema: Http, places: ["backend"] },
  tcp: { schema: Tcp, places: ["backend"] },
  health: { schema: Health, places: ["backend"] },
  sessionAffinity: { schema: SessionAffinity, places: ["backend"] },
  inferenceRouting: { schema: InferenceRouting, places: ["backend"] },
  mcpAuthorization: { schema: McpAuthorization, places: ["route", "backend"], onRoute: "backend", decides: true },
  mcpGuardrails: { schema: McpGuardrails, places: ["route", "backend"], onRoute: "backend", decides: true },
  a2a: { schema: A2a, places: ["route", "backend"], onRoute: "backend" },
  ai: { schema: Ai, places: ["route", "backend"], onRoute: "backend", decides: true }
} as const satisfies PolicySpecs

/** A name under which a policy is configured. */
export type PolicyName = keyof typeof schemas

/** What a policy decodes to. */
export type PolicyConfig<Name extends PolicyName> = (typeof schemas)[Name]["schema"]["Type"]
