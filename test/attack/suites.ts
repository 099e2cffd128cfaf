/** All suites of attacks, and how many cases each class must have: no fewer than were tried when it was first attacked. */

import { administration } from "./administration.ts"
import { answersByLlhttp } from "./answers-by-llhttp.ts"
import type { AttackClass, Suite } from "./attack.ts"
import { bodiesBeforeRules } from "./bodies.ts"
import { budgets } from "./budgets.ts"
import { configurationAsCode } from "./configuration-as-code.ts"
import { decompression } from "./decompression.ts"
import { eventStreams } from "./event-streams.ts"
import { expressionCost } from "./expression-cost.ts"
import { forgery } from "./forgery.ts"
import { guardedConversations } from "./guards.ts"
import { headerSpelling } from "./header-spelling.ts"
import { hostileAnswers } from "./hostile-answers.ts"
import { keySets } from "./key-sets.ts"
import { mcpFloods } from "./mcp-floods.ts"
import { mcpRebinding } from "./mcp-rebinding.ts"
import { mcpSessions } from "./mcp-sessions.ts"
import { mutatedConfigurations } from "./mutated-configurations.ts"
import { oddNames } from "./odd-names.ts"
import { pipelines } from "./pipelines.ts"
import { requestForms } from "./request-forms.ts"
import { slowClients } from "./slow-clients.ts"
import { pathSpellings } from "./spellings.ts"
import { tokens } from "./tokens.ts"
import { toldSecrets } from "./told-secrets.ts"

export const suites: ReadonlyArray<Suite> = [
  // Smuggling.
  requestForms,
  pipelines,
  hostileAnswers,
  answersByLlhttp,
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
  // Decompression.
  decompression,
  // Slow and flooding clients.
  slowClients,
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

/** The fewest cases of each class. */
export const atLeast: Readonly<Record<AttackClass, number>> = {
  // 243 forms of requests and 65 answers of backends.
  smuggling: 243 + 65,
  "header and path spelling": 30,
  "request forgery by the server": 30,
  // Those against the management interface.
  "rebinding and cross-site calls": 37,
  tokens: 98,
  "key-set exhaustion": 30,
  "event streams": 30,
  decompression: 30,
  "slow and flooding clients": 30,
  "regular expressions and expression cost": 30,
  "sessions and ids": 30,
  "configuration as code": 30,
  secrets: 30,
  // 50 forms of bodies, and 86 of conversations before guards.
  "fail-open": 50 + 86,
  budgets: 30,
  "prototypes, duplicates, big numbers": 30
}
