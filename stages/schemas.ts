/** Every policy of the configuration language with its wire shape and the places where it may be written. */
import type { PolicySpecs } from "../spec/standalone/policies.ts"
import { ApiKey } from "./api-key/schema.ts"
import { Authorization } from "./authorization/schema.ts"
import { Buffer } from "./buffer/schema.ts"
import { Cors } from "./cors/schema.ts"
import { DirectResponse } from "./direct-response/schema.ts"
import { JwtAuth } from "./jwt-auth/schema.ts"
import { LocalRateLimit } from "./local-rate-limit/schema.ts"
import { McpAuthentication } from "./mcp-authentication/schema.ts"
import { RequestHeaderModifier } from "./request-header-modifier/schema.ts"
import { RequestRedirect } from "./request-redirect/schema.ts"
import { ResponseHeaderModifier } from "./response-header-modifier/schema.ts"
import { Timeout } from "./timeout/schema.ts"
import { UrlRewrite } from "./url-rewrite/schema.ts"

export const schemas = {
  cors: { schema: Cors, places: ["gateway", "route", "llm", "ui"] },
  jwtAuth: { schema: JwtAuth, places: ["gateway", "route", "llm", "ui"] },
  mcpAuthentication: { schema: McpAuthentication, places: ["route"] },
  apiKey: { schema: ApiKey, places: ["gateway", "route", "llm", "ui"] },
  authorization: { schema: Authorization, places: ["gateway", "route", "backend", "llm", "ui"] },
  localRateLimit: { schema: LocalRateLimit, places: ["route", "llm"], conditional: true },
  buffer: { schema: Buffer, places: ["route"] },
  timeout: { schema: Timeout, places: ["route"] },
  requestHeaderModifier: { schema: RequestHeaderModifier, places: ["route", "backend"] },
  responseHeaderModifier: { schema: ResponseHeaderModifier, places: ["route", "backend"] },
  urlRewrite: { schema: UrlRewrite, places: ["route"] },
  requestRedirect: { schema: RequestRedirect, places: ["route", "backend"] },
  directResponse: { schema: DirectResponse, places: ["route"], conditional: true }
} as const satisfies PolicySpecs

/** A name under which a policy is configured. */
export type PolicyName = keyof typeof schemas

/** What a policy decodes to. */
export type PolicyConfig<Name extends PolicyName> = (typeof schemas)[Name]["schema"]["Type"]
