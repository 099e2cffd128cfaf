/** The provider of a model, resolved: a reference is followed, and what configuration says becomes provider settings. */
import type { ModelParams } from "../../spec/standalone/llm.ts"
import type { ConfigProblem } from "../../src/pipeline/stage.ts"
import { parseBaseUrl } from "../../src/protocols/llm/providers/base-url.ts"
import { presetSettings } from "../../src/protocols/llm/providers/provider.ts"
import type { AddressOverride, ProviderSettings } from "../../src/protocols/llm/providers/settings.ts"
import type { ModelConfig, ProviderConfig } from "./schema.ts"

/** A model with everything that its provider contributes laid under its own settings. */
export interface ResolvedModel {
  readonly config: ModelConfig
  readonly provider: Exclude<ModelConfig["provider"], { readonly kind: "reference" }>
  readonly params: ModelParams
}

/** Follows the reference of a model to a provider of the section. */
export const resolveModel = (
  config: ModelConfig,
  providers: ReadonlyArray<ProviderConfig>
): ResolvedModel | ConfigProblem => {
  const { provider, params = {} } = config
  if (provider.kind !== "reference") return { config, provider, params }
  const found = providers.find(({ name }) => name === provider.name)
  if (found === undefined || found.provider.kind === "reference")
    return { path: ["provider", "reference"], message: `there is no provider ${provider.name} in llm.providers` }
  const { defaults = {} } = found
  return {
    config: { ...defaults, ...config },
    provider: found.provider,
    params: { ...found.params, ...params }
  }
}

const override = (params: ModelParams): AddressOverride | ConfigProblem => {
  const base = params.baseUrl === undefined ? {} : parseBaseUrl(String(params.baseUrl))
  if ("problem" in base) return { path: ["params", "baseUrl"], message: base.problem }
  const host = params.hostOverride
  if (host?.kind === "unix") return { path: ["params", "hostOverride"], message: "a socket is not available yet" }
  return {
    ...base,
    ...(host === undefined ? {} : { host: host.host, port: host.port, scheme: host.tls ? "https" : "http" }),
    ...(params.pathOverride === undefined ? {} : { path: params.pathOverride }),
    ...(params.pathPrefix === undefined ? {} : { pathPrefix: params.pathPrefix })
  }
}

const missing = (field: string): ConfigProblem => ({ path: ["params", field], message: "the provider needs it" })

/** The settings that the provider table is compiled with. */
export const providerSettings = ({ provider, params }: ResolvedModel): ProviderSettings | ConfigProblem => {
  const address = override(params)
  if ("message" in address) return address
  switch (provider.kind) {
    case "preset":
      return presetSettings(provider.name, address)
    case "custom": {
      const { providerOverride, formats } = provider.config
      const { host } = address
      if (host === undefined) return missing("baseUrl")
      return {
        kind: "custom",
        ...(providerOverride === undefined ? {} : { name: providerOverride }),
        formats,
        ...address,
        host
      }
    }
    case "builtin":
      switch (provider.name) {
        case "openai":
        case "anthropic":
        case "gemini":
        case "copilot":
          return { kind: provider.name, ...address }
        case "vertex":
          return params.vertexProject === undefined
            ? missing("vertexProject")
            : {
                kind: "vertex",
                project: params.vertexProject,
                ...(params.vertexRegion === undefined ? {} : { region: params.vertexRegion }),
                ...address
              }
        case "bedrock":
          return params.awsRegion === undefined
            ? missing("awsRegion")
            : { kind: "bedrock", region: params.awsRegion, ...address }
        case "azure":
          return params.azureResourceName === undefined
            ? missing("azureResourceName")
            : params.azureResourceType === undefined
              ? missing("azureResourceType")
              : {
                  kind: "azure",
                  resourceName: params.azureResourceName,
                  resourceType: params.azureResourceType,
                  ...(params.azureApiVersion === undefined ? {} : { apiVersion: params.azureApiVersion }),
                  ...(params.azureProjectName === undefined ? {} : { projectName: params.azureProjectName }),
                  ...address
                }
        case "mock":
          return { kind: "custom", name: "mock", host: "mock", formats: [] }
      }
  }
}
