/** The wire shape of mcpGuardrails: servers that look at MCP messages and may change or refuse them. */
import { Schema } from "effect"
import {
  CelExpression,
  calling,
  declared,
  defaulted,
  FailureMode,
  HeaderOrPseudo,
  object,
  optional,
  required
} from "../../spec/policy.ts"

const GuardedPhase = Schema.Literals(["off", "request", "response", "full"]).annotate({
  identifier: "GuardedPhase",
  description: "What of a method is looked at: nothing, requests, answers, or both."
})

const headers = "At most 64; case does not matter."

const RequestHeaders = object("GuardrailHeaders", "Which request headers a server is told.", {
  allowed: optional(
    Schema.Array(HeaderOrPseudo),
    `Headers to tell; all and the pseudo-headers when left out or empty. ${headers}`
  ),
  disallowed: optional(Schema.Array(HeaderOrPseudo), `Headers to leave out, even when they are allowed. ${headers}`)
})

const Processor = calling("McpGuardrailProcessor", "A server that looks at MCP messages.", {
  kind: optional(Schema.Literal("remote"), "The only kind there is."),
  methods: optional(
    Schema.Record(Schema.String, GuardedPhase),
    "What of which method is looked at: by name, `prefix*`, `*suffix` or `*`, of which the most specific one counts. A method that is not listed passes."
  ),
  failureMode: defaulted(FailureMode, "failClosed", "What happens when the server cannot be asked."),
  metadata: optional(
    Schema.Record(Schema.String, CelExpression),
    "Values for the server, each an expression. One that fails is left out."
  ),
  requestHeaders: optional(RequestHeaders, "Which request headers the server is told.")
})

export const McpGuardrails = object("McpGuardrails", "Lets servers look at MCP messages, change them or refuse them.", {
  processors: required(
    Schema.Array(Processor).check(
      Schema.isMinLength(1, { expected: "at least one processor" }),
      Schema.isMaxLength(16, { expected: "at most 16 processors" })
    ),
    "The servers in order; the first refusal counts."
  )
})

export const mcpGuardrails = declared(McpGuardrails, {
  places: ["route", "backend"],
  onRoute: "backend",
  decides: "content",
  backends: ["mcp"]
})
