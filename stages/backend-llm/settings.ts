/** The provider of an endpoint as the provider table takes it. */
import type { ConfigProblem } from "../../src/policy/policy.ts"
import { presetSettings } from "../../src/protocols/llm/providers/provider.ts"
import type { AddressOverride, ProviderSettings } from "../../src/protocols/llm/providers/settings.ts"
import type { EndpointConfig } from "./schema.ts"

const override = ({ hostOverride: host, pathOverride, pathPrefix }: EndpointConfig, tls: boolean): AddressOverride => ({
  ...(host === undefined
    ? {}
    : host.kind === "unix"
      ? { host: "localhost" }
      : { host: host.host, port: host.port, scheme: tls || host.tls ? "https" : "http" }),
  ...(pathOverride === undefined ? {} : { path: pathOverride }),
  ...(pathPrefix === undefined ? {} : { pathPrefix })
})

/** @param tls whether an overriding host is spoken to over TLS, whatever its address says. */
export const providerSettings = (config: EndpointConfig, tls: boolean): ProviderSettings | ConfigProblem => {
  const address = override(config, tls)
  const { provider } = config
  switch (provider.kind) {
    case "preset":
      return presetSettings(provider.config.name, address)
    case "mock":
      return { kind: "custom", name: "mock", host: "mock", formats: [] }
    case "custom": {
      const { providerOverride, formats } = provider.config
      if (address.host === undefined) return { path: config.path, message: "a custom provider requires an address" }
      return {
        kind: "custom",
        ...(providerOverride === undefined ? {} : { name: providerOverride }),
        formats,
        ...address,
        host: address.host
      }
    }
    case "openAI":
      return {
        kind: "openai",
        ...(provider.config.moderation === undefined ? {} : { moderation: provider.config.moderation }),
        ...address
      }
    case "anthropic":
    case "gemini":
    case "copilot":
      return { kind: provider.kind, ...address }
    case "vertex": {
      const { projectId: project, region } = provider.config
      return { kind: "vertex", project, ...(region === undefined ? {} : { region }), ...address }
    }
    case "bedrock": {
      const { region, guardrailIdentifier: identifier, guardrailVersion: version } = provider.config
      return {
        kind: "bedrock",
        region,
        ...(identifier === undefined || version === undefined ? {} : { guardrail: { identifier, version } }),
        ...address
      }
    }
    case "azure": {
      const { resourceName, resourceType, apiVersion, projectName } = provider.config
      return {
        kind: "azure",
        resourceName,
        resourceType,
        ...(apiVersion === undefined ? {} : { apiVersion }),
        ...(projectName === undefined ? {} : { projectName }),
        ...address
      }
    }
  }
}
