/** Where a call goes: a host and port, a socket, a URL, or the name of a backend or a service. */
import { Schema, SchemaGetter } from "effect"
import { exactlyOneOf, object, required } from "./field.ts"
import { PortNumber, ShortString } from "./primitives.ts"

/** A parsed address. `host` is without the brackets of an IPv6 address. */
export type Address =
  | { readonly kind: "tcp"; readonly host: string; readonly port: number; readonly tls: boolean }
  | { readonly kind: "unix"; readonly path: string }

/** The schema of a parsed address. */
export const AddressType = Schema.Union([
  Schema.Struct({ kind: Schema.Literal("tcp"), host: Schema.String, port: Schema.Int, tls: Schema.Boolean }),
  Schema.Struct({ kind: Schema.Literal("unix"), path: Schema.String })
])

const name = "[A-Za-z0-9_](?:[A-Za-z0-9_.\\-]{0,251}[A-Za-z0-9_])?\\.?"
const host = `(?:${name}|\\[[0-9A-Fa-f:.]{2,45}\\])`
const port = "(?:[1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5])"

const hostPort = new RegExp(`^(${host}):(${port})$`, "u")
const socket = /^unix:(\/.+)$/u
const baseUrl = new RegExp(`^(https?)://(${host})(?::(${port}))?/?$`, "u")

const bare = (text: string) => (text.startsWith("[") ? text.slice(1, -1) : text)

const tcp = (hostname: string, portText: string, tls: boolean): Address => ({
  kind: "tcp",
  host: bare(hostname),
  port: Number(portText),
  tls
})

const parseHostPort = (text: string): Address | undefined => {
  const address = hostPort.exec(text)
  if (address !== null) return tcp(address[1]!, address[2]!, false)
  const path = socket.exec(text)
  return path === null ? undefined : { kind: "unix", path: path[1]! }
}

const parseTarget = (text: string): Address | undefined => {
  const url = baseUrl.exec(text)
  if (url === null) return parseHostPort(text)
  const tls = url[1] === "https"
  return tcp(url[2]!, url[3] ?? (tls ? "443" : "80"), tls)
}

const url = new RegExp(`^(?:(https?)://)?(${host})(?::(${port}))?(/[^\\s?#]*(?:\\?[^\\s#]*)?)?$`, "u")

/** An address with a path: an http(s) URL (ports 80 and 443 by default), or `host:port`, which has no path. */
export const parseUrl = (text: string): { readonly address: Address; readonly path: string } | undefined => {
  const [, scheme, hostname, portText, path] = url.exec(text) ?? []
  if (hostname === undefined || (scheme === undefined && (portText === undefined || path !== undefined)))
    return undefined
  const tls = scheme === "https"
  return {
    address: tcp(hostname, portText ?? (tls ? "443" : "80"), tls),
    path: path ?? (scheme === undefined ? "" : "/")
  }
}

/** The server of an `http:` or `https:` URL. */
export const addressOfUrl = ({ protocol, hostname, port }: URL): Address =>
  tcp(hostname, port === "" ? (protocol === "https:" ? "443" : "80") : port, protocol === "https:")

/** Writes an address in the form in which a file has it. */
export const formatAddress = (address: Address): string => {
  if (address.kind === "unix") return `unix:${address.path}`
  const hostname = address.host.includes(":") ? `[${address.host}]` : address.host
  return `${address.tls ? "https://" : ""}${hostname}:${address.port}`
}

const address = (
  identifier: string,
  description: string,
  parse: (text: string) => Address | undefined,
  explain: (text: string) => string,
  patterns: ReadonlyArray<RegExp>
) =>
  Schema.String.check(
    Schema.makeFilter((text: string) => (parse(text) === undefined ? explain(text) : undefined), {
      toJsonSchema: () => ({ anyOf: patterns.map((pattern) => ({ pattern: pattern.source })) }),
      arbitraryConstraint: { patterns: [{ source: patterns[0]!.source, flags: "u" }] }
    })
  )
    .annotate({ identifier, description, expected: "a string" })
    .pipe(
      Schema.decodeTo(AddressType, {
        decode: SchemaGetter.transform((text: string): Address => parse(text)!),
        encode: SchemaGetter.transform(formatAddress)
      })
    )

/** `host:port`, `ip:port`, `[ipv6]:port` or `unix:/path`. */
export const HostPort = address(
  "HostPort",
  "`host:port`, `ip:port`, `[ipv6]:port`, or `unix:/path` of a socket.",
  parseHostPort,
  (text) =>
    text.includes("://")
      ? "expected host:port without a scheme"
      : "expected host:port with a port of 1 to 65535, or unix:/path",
  [hostPort, socket]
)

const explainTarget = (text: string): string => {
  const url = /^([A-Za-z][A-Za-z0-9+.-]*):\/\/([^/?#]*)(.*)$/u.exec(text)
  if (url === null) return "expected host:port with a port of 1 to 65535, unix:/path, or an http(s) URL without a path"
  if (url[1] !== "http" && url[1] !== "https") return "backend URL scheme must be http or https"
  if (url[2] === "") return "backend URL must include a host"
  return url[3] === "" || url[3] === "/"
    ? "backend URL host or port is not valid"
    : "backend URL paths are not supported"
}

/** A host that a policy calls: like `HostPort`, or `http(s)://host[:port]`; https turns on TLS with the trust of the system. */
export const TargetHost = address(
  "TargetHost",
  "`host:port`, `unix:/path`, or an `http://` or `https://` URL without a path; the port of a URL defaults to 80 or 443, and https turns on TLS with the trust of the system.",
  parseTarget,
  explainTarget,
  [hostPort, baseUrl, socket]
)

/** Where an endpoint of a service is. Without a port of its own it has the one that the service says. */
export interface EndpointAddress {
  readonly host: string
  readonly port: number | undefined
}

const endpoint = new RegExp(`^(${host})(?::(${port}))?$`, "u")

const formatEndpoint = ({ host, port }: EndpointAddress): string => {
  const name = host.includes(":") ? `[${host}]` : host
  return port === undefined ? name : `${name}:${port}`
}

/** `host`, `ip`, `[ipv6]`, each with or without a port. */
export const EndpointAddress = Schema.String.check(
  Schema.makeFilter(
    (text: string) =>
      endpoint.test(text)
        ? undefined
        : "expected a host name or an IP address, [ipv6] in brackets, and a port of 1 to 65535 if any",
    {
      toJsonSchema: () => ({ pattern: endpoint.source }),
      arbitraryConstraint: { patterns: [{ source: endpoint.source, flags: "u" }] }
    }
  )
)
  .annotate({
    identifier: "EndpointAddress",
    description: "`ip`, `[ipv6]` or `host`, each with `:port` or without.",
    expected: "a string"
  })
  .pipe(
    Schema.decodeTo(Schema.Struct({ host: Schema.String, port: Schema.UndefinedOr(Schema.Int) }), {
      decode: SchemaGetter.transform((text: string): EndpointAddress => {
        const [, hostname, portText] = endpoint.exec(text)!
        return { host: bare(hostname!), port: portText === undefined ? undefined : Number(portText) }
      }),
      encode: SchemaGetter.transform(formatEndpoint)
    })
  )

/** The name of a backend: `<namespace>/<name>`; a backend of the same file has an empty namespace, `/<name>`. */
export const BackendName = Schema.String.check(
  Schema.isPattern(/^[^/\s]{0,253}\/\S{1,512}$/u, {
    expected: "<namespace>/<name>; for a backend of this file put a slash before its name: /<name>"
  })
).annotate({
  identifier: "BackendName",
  description: "A named backend, `<namespace>/<name>`. A backend of the same file has an empty namespace: `/name`."
})

/** A service of the discovery sections: `<namespace>/<hostname>`. */
export const ServiceName = Schema.String.check(
  Schema.isPattern(/^[^/\s]{1,253}\/[^/\s]{1,253}$/u, { expected: "<namespace>/<hostname>" })
).annotate({ identifier: "ServiceName", description: "A service, `<namespace>/<hostname>`." })

/** A port of a service. */
export const ServiceReference = object("ServiceReference", "A port of a service.", {
  name: required(ServiceName, "The service, `<namespace>/<hostname>`."),
  port: required(PortNumber, "Port of the service.")
})

/** The three ways to name a plain backend, for spreading into `exactlyOneOf`. */
export const simpleBackend = {
  host: required(HostPort, "The backend by its address."),
  backend: required(BackendName, "The backend by its name in `backends`."),
  service: required(ServiceReference, "The backend as a service.")
}

/** Exactly one of `host`, `backend`, `service`. */
export const SimpleBackend = exactlyOneOf(
  "SimpleBackend",
  "A backend by its address, by its name, or as a service.",
  simpleBackend
)

/** The DNS name of a listener or a route: exact, `*.example.com`, or `*` for any. */
export const Hostname = ShortString.check(
  Schema.isPattern(/^(?:\*|(?:\*\.)?[A-Za-z0-9_](?:[A-Za-z0-9_.-]*[A-Za-z0-9_])?|\[[0-9A-Fa-f:.]+\])$/u, {
    expected: "a host name without a port, such as example.com or *.example.com"
  })
).annotate({
  identifier: "Hostname",
  description: "A host name, `*.example.com` for all below a domain, or `*` for any."
})
