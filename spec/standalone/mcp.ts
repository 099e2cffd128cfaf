/** MCP servers as backends: what they are and how several of them appear as one. */
import { Schema, SchemaGetter } from "effect"
import { ConnectionPolicies } from "../connection/policies.ts"
import { redacted } from "../content.ts"
import { FileInlineOrRemote } from "../document.ts"
import { defaulted, exactlyOneOf, object, optional, type Rule, required, withAliases } from "../field.ts"
import { FailureMode } from "../location.ts"
import { LongString, PortNumber, PositiveCount } from "../primitives.ts"
import { type Address, AddressType, BackendName, parseUrl } from "../target.ts"

const Path = Schema.String.check(Schema.isStartingWith("/", { expected: "a path that begins with /" }))

const endpointFields = {
  host: optional(
    LongString,
    "The server: an `http` or `https` URL with its path, or `host:port`; or a host name beside `port` and `path`."
  ),
  port: optional(PortNumber, "The port, with `path`."),
  path: optional(Path, "The path. It stands beside `port` or `backend`."),
  backend: optional(BackendName, "The server by its name in `backends`.")
}

const endpointRule: Rule<{
  readonly host?: string
  readonly port?: number
  readonly path?: string
  readonly backend?: string
}> = {
  check: (form) => {
    if (form.host !== undefined && form.backend !== undefined) return "host and backend exclude each other"
    if (form.backend !== undefined)
      return form.port === undefined ? undefined : { path: ["port"], issue: "cannot be used with backend" }
    if (form.host === undefined) return "expected exactly one of host, backend"
    if ((form.port === undefined) !== (form.path === undefined)) return "port and path come together"
    if (form.port !== undefined)
      return /[/:]/.test(form.host)
        ? { path: ["host"], issue: "expected a host name, since port and path are given" }
        : undefined
    if (/^[A-Za-z][\w+.-]*:\/\//.test(form.host) && !/^https?:/.test(form.host))
      return { path: ["host"], issue: "invalid scheme" }
    return parseUrl(form.host) === undefined
      ? { path: ["host"], issue: "expected an http or https URL, or host:port" }
      : undefined
  }
}

const Endpoint = Schema.Union([
  Schema.Struct({ address: AddressType, path: Schema.String }),
  Schema.Struct({ backend: Schema.String, path: Schema.String })
])

/** Where an MCP server is. An empty path stands for the usual one of its transport. */
export type McpEndpoint = typeof Endpoint.Type

type EndpointForm = {
  readonly host?: string
  readonly port?: number
  readonly path?: string
  readonly backend?: string
}

const toEndpoint = ({ host, port, path = "", backend }: EndpointForm): McpEndpoint => {
  if (backend !== undefined) return { backend, path }
  if (port !== undefined) return { address: { kind: "tcp", host: host!, port, tls: false }, path }
  return parseUrl(host!)!
}

const fromEndpoint = (endpoint: McpEndpoint): EndpointForm => {
  if ("backend" in endpoint)
    return { backend: endpoint.backend, ...(endpoint.path === "" ? {} : { path: endpoint.path }) }
  const address = endpoint.address as Extract<Address, { kind: "tcp" }>
  const hostname = address.host.includes(":") ? `[${address.host}]` : address.host
  // With a scheme, no path is the path `/`.
  if (endpoint.path === "") return { host: `${hostname}:${address.port}` }
  return { host: `${address.tls ? "https" : "http"}://${hostname}:${address.port}${endpoint.path}` }
}

const endpoint = (identifier: string, description: string) =>
  object(identifier, description, endpointFields, endpointRule).pipe(
    Schema.decodeTo(Endpoint, {
      decode: SchemaGetter.transform(toEndpoint),
      encode: SchemaGetter.transform(fromEndpoint)
    })
  )

const OpenApiEndpoint = Schema.Struct({
  endpoint: Endpoint,
  schema: Schema.optionalKey(Schema.toType(FileInlineOrRemote))
})

const OpenApi = object(
  "OpenApiTarget",
  "An HTTP interface described by OpenAPI; its operations become tools.",
  { ...endpointFields, schema: optional(FileInlineOrRemote, "The OpenAPI document, JSON or YAML.") },
  endpointRule
).pipe(
  Schema.decodeTo(OpenApiEndpoint, {
    decode: SchemaGetter.transform(({ schema, ...form }): typeof OpenApiEndpoint.Type => ({
      endpoint: toEndpoint(form),
      ...(schema === undefined ? {} : { schema })
    })),
    encode: SchemaGetter.transform(({ endpoint, schema }: typeof OpenApiEndpoint.Type) => ({
      ...fromEndpoint(endpoint),
      ...(schema === undefined ? {} : { schema })
    }))
  })
)

const Stdio = withAliases(
  object("StdioTarget", "A server that is started as a child process, one for each session.", {
    cmd: required(LongString, "The command."),
    args: defaulted(Schema.Array(redacted(Schema.String)), [], "Its arguments."),
    env: defaulted(
      Schema.Record(Schema.String, redacted(Schema.String)),
      {},
      "Variables of its environment, beside those that it inherits: HOME, LOGNAME, PATH, SHELL, TERM and USER."
    ),
    inheritEnv: defaulted(
      Schema.Array(Schema.String),
      [],
      "Names of further variables of this process that it inherits, as `HTTPS_PROXY`. Keys that this process holds for others reach a server only if they are named here or in `env`."
    ),
    clearEnv: defaulted(Schema.Boolean, false, "Whether it gets `env` alone.")
  }),
  { clear_env: "clearEnv", inherit_env: "inheritEnv" }
)

const TargetName = Schema.String.check(
  Schema.isPattern(/^[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*$/u, {
    expected: "lower-case letters, digits, - and ., beginning and ending with a letter or digit"
  }),
  Schema.isMaxCodePoints(253, { expected: "at most 253 characters" })
).annotate({
  identifier: "McpTargetName",
  description:
    "Lower-case letters, digits, `-` and `.`; it stands before the names of tools when there are several targets."
})

/** An MCP server. */
export const McpTarget = exactlyOneOf(
  "McpTarget",
  "An MCP server.",
  {
    stdio: required(Stdio, "A child process."),
    mcp: required(endpoint("StreamableHttpTarget", "A server over streamable HTTP."), "A server over streamable HTTP."),
    sse: required(
      endpoint("SseTarget", "A server over the older HTTP with events."),
      "A server over the older HTTP with events."
    ),
    openapi: required(OpenApi, "An HTTP interface described by OpenAPI; its operations become tools.")
  },
  {
    name: required(TargetName, "Name of the target; unique in its backend."),
    policies: optional(
      ConnectionPolicies,
      "Policies of the connection to the server. With `backendAuth: { passthrough: {} }` it is shown the token of the request that a message is sent for, whichever request began the session."
    )
  },
  {
    check: (form) => {
      if (!("policies" in form)) return undefined
      const target = form as {
        readonly stdio?: unknown
        readonly mcp?: object
        readonly sse?: object
        readonly openapi?: object
      }
      if (target.stdio !== undefined) return { path: ["policies"], issue: "a stdio target cannot have policies" }
      const remote = target.mcp ?? target.sse ?? target.openapi
      return remote !== undefined && "backend" in remote
        ? { path: ["policies"], issue: "a target that names a backend cannot have policies; put them on the backend" }
        : undefined
    },
    jsonSchema: { not: { required: ["stdio", "policies"] } }
  }
)

/** How the servers of a backend appear as one, for an MCP backend and for the `mcp` section. */
export const mcpFields = {
  targets: required(Schema.Array(McpTarget), "The servers."),
  statefulMode: defaulted(
    Schema.Literals(["stateful", "stateless"]),
    "stateful",
    "Whether a client has a session, or every request stands for itself."
  ),
  prefixMode: defaulted(
    Schema.Literals(["conditional", "always", "never"]),
    "conditional",
    "Whether names carry the name of their target: when there are several, always, or never (names must then be unique)."
  ),
  failureMode: defaulted(
    FailureMode,
    "failClosed",
    "Whether a target that fails is fatal for the session or left out."
  ),
  maxSessions: defaulted(PositiveCount, 65_536, "The most sessions at a time. More are refused with 503."),
  maxSessionsPerAddress: defaulted(
    PositiveCount,
    32,
    "The most sessions at a time of clients that no policy authenticated and that share an IP address (of IPv6: the first 64 bits). At the bound, the one that has been idle for longest, a minute at least, makes room for the new one; if none has, the new one is refused with 429. Behind a proxy that makes all clients look like one, raise it or let clients authenticate. A session of such a client ends after five seconds unless its client sends something after `initialize`."
  ),
  maxChildren: defaulted(
    PositiveCount,
    512,
    "The most child processes of `stdio` servers at a time. Sessions that would need more are refused with 503."
  ),
  dnsRebindingProtection: optional(
    Schema.Boolean,
    "Protects a server on a developer's machine from web pages that reach it through a name of their own. With `true`, `Host` must be localhost, 127.0.0.1, [::1] or a host name that the listener or the route names, and `Origin`, where there is one, as well, or one that the policy `cors` allows; else 403. When left out, that holds for listeners on a loopback address; on others, what comes in over loopback is refused only if it bears the mark of such a page: its origin is a name of the page's own at the port of the listener. With `false`, nothing is checked."
  )
}

const uniqueNames: Rule<{ readonly targets: ReadonlyArray<{ readonly name: string }> }> = {
  check: ({ targets }) => {
    const at = targets.findIndex(({ name }, index) => targets.findIndex((each) => each.name === name) !== index)
    return at === -1 ? undefined : { path: ["targets", at, "name"], issue: "another target has this name" }
  }
}

/** The second name of `statefulMode`. */
export const mcpAliases = { sessionRouting: "statefulMode" } as const

/** The rules that the servers of one backend keep. */
export const mcpRules = [uniqueNames] as const

/** An MCP backend. */
export const McpBackend = withAliases(
  object("McpBackend", "MCP servers that appear as one.", mcpFields, ...mcpRules),
  mcpAliases
)

export type McpBackend = typeof McpBackend.Type
