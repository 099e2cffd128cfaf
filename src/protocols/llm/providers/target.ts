/** The address of one call, put together from a compiled row of the provider table. */
import type { UpstreamFormat } from "../formats/format.ts"
import type { Credential } from "./credential.ts"
import type { AddressOverride, ProviderKind } from "./settings.ts"
import type { Endpoint, Row } from "./table.ts"
import { type WireFormat, wireFormats } from "./wire-format.ts"

/** What the address of a call depends on. */
export interface Call {
  /** The format of the body that is sent; `passthrough` when it is the client's own, unread. */
  readonly format: WireFormat | "passthrough"
  /** The model as the provider is to see it. */
  readonly model: string
  readonly streaming: boolean
  /** The client spoke another format: its path means nothing to this provider. */
  readonly translated: boolean
  readonly clientPath: string
  /** Without the question mark; empty when there is none. */
  readonly clientQuery: string
}

/** Where a call goes and what it must carry. */
export interface Target {
  readonly scheme: "http" | "https"
  readonly host: string
  readonly port: number
  /** Path and query. */
  readonly path: string
  /** Set whatever the client sent; names in lower case. */
  readonly setHeaders: ReadonlyArray<readonly [name: string, value: string]>
  readonly removeHeaders: ReadonlyArray<string>
  readonly credential: Credential
}

/** A row with everything filled in but the model. */
export interface CompiledRow {
  /** What it has endpoints for. */
  readonly formats: ReadonlyArray<WireFormat>
  /** What these take for a model. */
  readonly bodies: (model: string) => ReadonlyArray<UpstreamFormat>
  readonly target: (call: Call, format: WireFormat, segment: string | undefined) => Target | undefined
  readonly passthrough: (call: Call) => Target
}

/** A path cut at its `{model}`; `after` is `undefined` when the model is not part of it. */
interface Template {
  readonly before: string
  readonly after: string | undefined
}

const fill = (text: string, names: Readonly<Record<string, string>>): string =>
  text.replace(/\{(\w+)\}/g, (whole, name: string) => (Object.hasOwn(names, name) ? names[name]! : whole))

const template = (path: string): Template => {
  const at = path.indexOf("{model}")
  return at === -1
    ? { before: path, after: undefined }
    : { before: path.slice(0, at), after: path.slice(at + "{model}".length) }
}

const render = ({ before, after }: Template, segment: string | undefined): string | undefined =>
  after === undefined ? before : segment === undefined ? undefined : before + segment + after

const withQuery = (path: string, query: string): string =>
  query === "" ? path : `${path}${path.includes("?") ? "&" : "?"}${query}`

const trimSlashes = (path: string): string => path.replace(/\/+$/, "")

/** Google's `alt` chooses the shape of a stream: the gateway's choice counts, not the client's. */
const withoutAlt = (query: string): string =>
  query === ""
    ? query
    : query
        .split("&")
        .filter((pair) => !isAlt(pair))
        .join("&")
// Without the ampersand a leading question mark would be dropped.
const isAlt = (pair: string): boolean => [...new URLSearchParams(`&${pair}`).keys()].some((name) => alts.has(name))
const alts: ReadonlySet<string> = new Set(["alt", "$alt"])

const googleNative: ReadonlySet<WireFormat> = new Set(["generateContent", "geminiCountTokens"])

/**
 * Compiles a row under the address override of `settings`. A host override takes the provider's built-in TLS and cloud credential away:
 * whoever points elsewhere says so for both.
 */
export const compileRow = (
  settings: AddressOverride & { readonly kind: ProviderKind },
  row: Row,
  names: Readonly<Record<string, string>>
): CompiledRow => {
  const elsewhere = settings.host !== undefined
  const scheme = elsewhere ? (settings.scheme ?? "http") : "https"
  const port = settings.port ?? (scheme === "https" ? 443 : 80)
  const prefix = settings.pathPrefix === undefined ? undefined : trimSlashes(settings.pathPrefix)
  const base =
    row.pathPrefix === "replaces"
      ? (prefix ?? row.base)
      : row.pathPrefix === "precedes"
        ? (prefix ?? "") + row.base
        : row.base
  const setHeaders = row.setHeaders ?? []
  const removeHeaders = row.removeHeaders ?? []

  const compileCredential = (own: Credential): Credential => {
    if (elsewhere && own.type !== "key") return { type: "key", ...(own.move === undefined ? {} : { move: own.move }) }
    return own.type === "aws" ? { ...own, region: fill(own.region, names) } : own
  }
  const compileEndpoint = (endpoint: Endpoint) => {
    const {
      path,
      streaming = path,
      host = row.host,
      credential = row.credential
    } = typeof endpoint === "string" ? { path: endpoint } : endpoint
    return {
      host: settings.host ?? fill(host, names),
      plain: template(fill(base + path, names)),
      streaming: template(fill(base + streaming, names)),
      credential: compileCredential(credential)
    }
  }
  const endpoints = new Map<WireFormat, ReturnType<typeof compileEndpoint>>()
  for (const format of wireFormats) {
    const endpoint = row.endpoints[format]
    if (endpoint !== undefined) endpoints.set(format, compileEndpoint(endpoint))
  }
  const credential = compileCredential(row.credential)
  // Gemini's OpenAI-compatible paths take the key as it is.
  const compatible = compileCredential({ type: "key" })

  // Another host with the provider's own API at its own paths: the client already speaks it, its path is taken as it is.
  const keepsClientPath = elsewhere && prefix === undefined && settings.kind !== "custom"

  const formats = [...endpoints.keys()]
  const { bodies } = row
  return {
    formats,
    bodies:
      bodies === undefined
        ? () => formats
        : (model) =>
            formats.map((format) => {
              const body = bodies[format] ?? format
              return typeof body === "function" ? body(model) : body
            }),
    target: (call, format, segment) => {
      const endpoint = endpoints.get(format)
      if (endpoint === undefined) return undefined
      const google = googleNative.has(format)
      const query = google ? withoutAlt(call.clientQuery) : call.clientQuery
      const own =
        settings.path ??
        (keepsClientPath && !call.translated
          ? call.clientPath + (google && call.streaming ? "?alt=sse" : "")
          : render(call.streaming ? endpoint.streaming : endpoint.plain, segment))
      if (own === undefined) return undefined
      const path = settings.path === undefined ? withQuery(own, query) : own
      return { scheme, host: endpoint.host, port, path, setHeaders, removeHeaders, credential: endpoint.credential }
    },
    passthrough: (call) => ({
      scheme,
      host: settings.host ?? fill(row.host, names),
      port,
      path: settings.path ?? withQuery(passthroughPath(settings.kind, prefix, call.clientPath), call.clientQuery),
      setHeaders,
      removeHeaders,
      credential: settings.kind === "gemini" && call.clientPath.includes("/openai/") ? compatible : credential
    })
  }
}

/** Kinds whose clients address them under `/v1`, which a prefix replaces. */
const underV1: ReadonlySet<ProviderKind> = new Set(["openai", "copilot", "anthropic"])

const passthroughPath = (kind: ProviderKind, prefix: string | undefined, path: string): string => {
  if (prefix === undefined) return path
  // A custom prefix that names the version itself would double it.
  const replacesV1 = underV1.has(kind) || (kind === "custom" && prefix.endsWith("/v1"))
  return prefix + (replacesV1 && (path === "/v1" || path.startsWith("/v1/")) ? path.slice("/v1".length) : path)
}
