/** All suites of attacks, and how many cases they must have: no fewer than were tried when the gateway was first attacked. */
import { administration } from "./administration.ts"
import { answersByLlhttp } from "./answers-by-llhttp.ts"
import type { Suite } from "./attack.ts"
import { bodies, bodiesBeforeRules } from "./bodies.ts"
import { budgets } from "./budgets.ts"
import { configurationAsCode } from "./configuration-as-code.ts"
import { decompression } from "./decompression.ts"
import { eventStreams } from "./event-streams.ts"
import { expressionCost } from "./expression-cost.ts"
import { forgery } from "./forgery.ts"
import { guardedConversations } from "./guards.ts"
import { headerSpelling } from "./header-spelling.ts"
import { hostileAnswers } from "./hostile-answers.ts"
import { http2Sessions } from "./http2-sessions.ts"
import { interfaceAnswers } from "./interface-answers.ts"
import { keySets } from "./key-sets.ts"
import { mcpFloods } from "./mcp-floods.ts"
import { mcpRebinding } from "./mcp-rebinding.ts"
import { mcpSessions } from "./mcp-sessions.ts"
import { mutatedConfigurations } from "./mutated-configurations.ts"
import { oddNames } from "./odd-names.ts"
import { pipelines } from "./pipelines.ts"
import { proxyHeaders } from "./proxy-headers.ts"
import { requestForms } from "./request-forms.ts"
import { requestsByLlhttp } from "./requests-by-llhttp.ts"
import { slowClients } from "./slow-clients.ts"
import { pathSpellings } from "./spellings.ts"
import { tlsHandshakes } from "./tls-handshakes.ts"
import { tlsHellos } from "./tls-hellos.ts"
import { tokens } from "./tokens.ts"
import { toldSecrets } from "./told-secrets.ts"

export const suites: ReadonlyArray<Suite> = [
  // Smuggling.
  requestForms,
  pipelines,
  hostileAnswers,
  answersByLlhttp,
  proxyHeaders,
  tlsHellos,
  requestsByLlhttp,
  // Header and path spelling.
  pathSpellings,
  headerSpelling,
  // Request forgery by the server.
  forgery,
  // Rebinding and cross-site calls.
  administration,
  mcpRebinding,
  // Tokens.
  tokens,
  // Event streams.
  eventStreams,
  interfaceAnswers,
  // Decompression.
  decompression,
  // Slow and flooding clients.
  slowClients,
  http2Sessions,
  tlsHandshakes,
  mcpFloods,
  // Sessions and ids.
  mcpSessions,
  // Secrets.
  mutatedConfigurations,
  toldSecrets,
  // Fail-open.
  bodiesBeforeRules,
  guardedConversations,
  // Budgets.
  budgets,
  // Key-set exhaustion.
  keySets,
  // Configuration as code.
  configurationAsCode,
  // Regular expressions and expression cost.
  expressionCost,
  // Prototypes, duplicates, big numbers.
  oddNames
]

/** The fewest cases of suites that others began: as many as they tried. */
export const fewest: ReadonlyArray<{
  readonly what: string
  readonly names: ReadonlyArray<string>
  readonly count: number
}> = [
  { what: "forms of requests", names: requestForms.titles, count: 243 },
  { what: "answers of backends", names: hostileAnswers.titles, count: 65 },
  { what: "tokens", names: tokens.titles, count: 98 },
  { what: "forms of bodies", names: bodies.map(({ name }) => name), count: 50 },
  { what: "conversations before guards", names: guardedConversations.titles, count: 86 },
  { what: "calls of the management interface", names: administration.titles, count: 37 }
]

/** The fewest cases of any class. */
export const fewestOfClass = 30
