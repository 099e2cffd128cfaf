/** Where the calls of an endpoint go: to a provider over HTTP, or into the built-in mock. */
import { Effect, type Scope } from "effect"
import {
  type BackendAuthFailed,
  type ConfigPath,
  type ConfigProblem,
  compileBackendCredential,
  type RequestHead,
  type TokenBearer,
  unavailable
} from "../../src/policy/policy.ts"
import { type Files, type MockParams, type Upstream, Upstreams } from "../../src/policy/terminal.ts"
import type { Provider } from "../../src/protocols/llm/providers/provider.ts"
import type { Target } from "../../src/protocols/llm/providers/target.ts"
import { wireFormats } from "../../src/protocols/llm/providers/wire-format.ts"
import { authorize, withoutClientsKeys } from "./credential.ts"
import { mockUpstream } from "./mock-upstream.ts"
import type { EndpointConfig, EndpointPolicies } from "./schema.ts"

export type Destination =
  | {
      readonly type: "http"
      /** The connections to a target, opened when the configuration was compiled. */
      readonly upstreamOf: (target: Target) => Upstream | undefined
      /** Milliseconds for each call of it, up to the head of the response. */
      readonly requestTimeout: number | undefined
      /** Whether it is shown the token of the client. */
      readonly passesToken: boolean
      /** Takes the client's own credentials out, where the provider is called with others. */
      readonly withoutClientsKeys: (request: RequestHead, client: TokenBearer | undefined) => void
      /** Puts the credential in its place. */
      readonly authorize: (
        request: RequestHead,
        client: TokenBearer | undefined,
        target: Target
      ) => BackendAuthFailed | undefined
    }
  | { readonly type: "mock"; readonly answer: ReturnType<typeof mockUpstream> }

/** Where something was written. */
type PathOf = (policy: "backendAuth") => ConfigPath

type Compiling<A, R> = Effect.Effect<A, ReadonlyArray<ConfigProblem>, R>

/** Compiles it; problems carry whole paths. */
export const compileDestination = (
  provider: Provider,
  config: EndpointConfig,
  policies: EndpointPolicies,
  pathOf: PathOf
): Compiling<Destination, Files | Upstreams | Scope.Scope> =>
  config.provider.kind === "mock"
    ? Effect.succeed({ type: "mock", answer: mockUpstream(mockSettings(config.provider.config)) })
    : compileHttpDestination(provider, config, policies, pathOf)

const mockSettings = ({ seed, latency, tokensPerSecond, failureRate }: MockParams) => ({
  seed,
  latencyMs: latency,
  tokensPerSecond,
  failureRate
})

/** Every address that a call of this provider may have is opened now: none of them depends on the request. */
const compileHttpDestination = (
  provider: Provider,
  config: EndpointConfig,
  { backendAuth }: EndpointPolicies,
  pathOf: PathOf
): Compiling<Destination, Files | Upstreams | Scope.Scope> =>
  Effect.gen(function* () {
    const { connections } = config
    if (connections === undefined) return yield* Effect.fail([])
    const { open } = yield* Upstreams
    const own = backendAuth && (yield* below(pathOf("backendAuth"), compileBackendCredential(backendAuth)))
    const opened: Array<Address & { readonly upstream: Upstream }> = []
    const model = config.provider.config.model ?? config.name.replace("*", "x")
    for (const format of [...wireFormats, "passthrough" as const]) {
      const target = provider.target({
        format,
        model,
        streaming: false,
        translated: false,
        clientPath: "/",
        clientQuery: ""
      })
      if ("_tag" in target || opened.some(isAt(target))) continue
      const { host, port, scheme, credential } = target
      if (credential.type !== "key" && own === undefined) {
        // What a cloud knows the gateway by when there is no key.
        const lacking = unavailable([...config.path, "provider"], `the identity of ${credential.type}`)
        return yield* Effect.fail([{ ...lacking, message: `${lacking.message}: give a key` }])
      }
      const socket = config.hostOverride?.kind === "unix" ? config.hostOverride : undefined
      const address = socket ?? ({ kind: "tcp", host, port, tls: scheme === "https" } as const)
      opened.push({ scheme, host, port, upstream: yield* open(address, connections) })
    }
    return {
      type: "http",
      upstreamOf: (target) => opened.find(isAt(target))?.upstream,
      requestTimeout: connections.requestTimeout,
      passesToken: own?.passesToken === true,
      withoutClientsKeys: (request, client) => withoutClientsKeys(request, own, client),
      authorize: (request, client, { credential }) => authorize(request, own, client, credential)
    }
  })

const below = <A, R>(path: ConfigPath, compiling: Compiling<A, R>): Compiling<A, R> =>
  Effect.mapError(compiling, (problems) =>
    problems.map((problem) => ({ ...problem, path: [...path, ...problem.path] }))
  )

type Address = Pick<Target, "scheme" | "host" | "port">

const isAt =
  ({ scheme, host, port }: Address) =>
  (one: Address): boolean =>
    one.host === host && one.port === port && one.scheme === scheme
