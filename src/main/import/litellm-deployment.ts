/** One entry of LiteLLM's `model_list` as one of our models, with what its provider needs. */
import type { Path } from "../../../spec/config/path.ts"
import { providers } from "../configuration/providers.ts"
import { isMembers, type Ledger, type Members } from "./ledger.ts"
import { type Deployed, deployedModel } from "./litellm-provider.ts"
import { credential, isName, isVariable, positive, text, writtenValue } from "./litellm-values.ts"

/** One entry of the list. */
export interface Deployment {
  readonly group: string
  readonly path: Path
  readonly weight: number
  readonly order: number
  readonly settings: Members
}

/** Parameters of a request that a deployment gives where the client does not. */
const requestParameters = new Set([
  "temperature",
  "max_tokens",
  "max_completion_tokens",
  "top_p",
  "n",
  "stop",
  "seed",
  "presence_penalty",
  "frequency_penalty",
  "response_format",
  "reasoning_effort",
  "user"
])

const variableName = (group: string): string =>
  `${
    group
      .toUpperCase()
      .replaceAll(/[^A-Z0-9]+/g, "_")
      .replaceAll(/^_+|_+$/g, "") || "MODEL"
  }_API_KEY`

const isBaseUrl = (url: string): boolean => {
  const parsed = URL.parse(url)
  return (
    parsed !== null &&
    /^https?:$/.test(parsed.protocol) &&
    parsed.username === "" &&
    parsed.password === "" &&
    parsed.search === "" &&
    parsed.hash === "" &&
    /^https?:\/\/[\x21-\x7e]+$/.test(url)
  )
}

/** The parameters of a provider, apart from the model. `undefined`: it cannot be called. */
const paramsOf = (
  ledger: Ledger,
  { provider, needsAddress }: Deployed,
  params: Members,
  path: Path,
  group: string
): Members | undefined => {
  const found: Record<string, unknown> = {}
  const at = (key: string): Path => [...path, key]
  const base = params["api_base"] === undefined ? "base_url" : "api_base"
  const address = writtenValue(ledger, params[base], "http://localhost")
  if (provider === "azure") {
    const resource =
      typeof address === "string" ? /^https:\/\/([\w-]+)\.openai\.azure\.com\/?/.exec(address)?.[1] : undefined
    found["azureResourceName"] = resource ?? ledger.variable("AZURE_RESOURCE_NAME")
    found["azureResourceType"] = "openAI"
    if (resource !== undefined) ledger.exact(at(base), `the resource ${resource}`)
    else
      ledger.tell(
        "manual",
        params[base] === undefined ? path : at(base),
        "put the name of the resource in AZURE_RESOURCE_NAME"
      )
    const version = writtenValue(ledger, params["api_version"])
    if (version !== undefined) {
      found["azureApiVersion"] = version
      ledger.exact(at("api_version"), "azureApiVersion")
    }
  } else if (params[base] !== undefined) {
    if (address === undefined || (typeof address === "string" && !isBaseUrl(address))) {
      ledger.tell(
        "unsupported",
        at(base),
        "no http or https URL without credentials, query and fragment: the model is left out"
      )
      return undefined
    }
    found["baseUrl"] = address
    const isWhole = typeof address !== "string" || URL.parse(address)!.pathname !== "/"
    if (isWhole) ledger.exact(at(base), "baseUrl")
    else
      ledger.tell("approximate", at(base), "baseUrl; without a path the usual one of the provider stands, such as /v1")
  } else if (needsAddress) {
    ledger.tell("unsupported", at("model"), "a server of one's own needs api_base: the model is left out")
    return undefined
  }
  for (const { param, variables } of providers[provider].settings) {
    if (param === "apiKey") {
      const own = params["api_key"]
      if (own !== undefined) {
        found["apiKey"] = credential(ledger, own, at("api_key"), variableName(group))
      } else if (found["baseUrl"] === undefined || provider !== "openai") {
        found["apiKey"] = ledger.variable(variables[0])
        if (provider === "bedrock" || provider === "vertex" || provider === "copilot")
          ledger.tell("manual", path, `put a key for the provider in ${variables[0]}`)
      }
    } else if (param === "awsRegion" || param === "vertexProject") {
      const key = param === "awsRegion" ? "aws_region_name" : "vertex_project"
      const given = writtenValue(ledger, params[key])
      found[param] = given ?? ledger.variable(variables[0])
      if (given !== undefined) ledger.exact(at(key), param)
    }
  }
  if (provider === "vertex") {
    const region = writtenValue(ledger, params["vertex_location"])
    if (region !== undefined) {
      found["vertexRegion"] = region
      ledger.exact(at("vertex_location"), "vertexRegion")
    }
  }
  return found
}

/** An entry of the list. `undefined`: it is left out, and why is told. */
export const deploymentOf = (ledger: Ledger, entry: unknown, path: Path): Deployment | undefined => {
  const leave = (at: Path, message: string): undefined => {
    ledger.tell("unsupported", at, `${message}: the model is left out`)
  }
  if (!isMembers(entry)) return leave(path, "no mapping")
  const params = entry["litellm_params"]
  const group = text(entry["model_name"])
  const nameAt = [...path, "model_name"]
  if (group === undefined || !isName(group) || !/^(?:\*?[^*]+|[^*]+\*|\*)$/.test(group))
    return leave(nameAt, "no name of a model with at most one *, first or last")
  if (!isMembers(params)) return leave([...path, "litellm_params"], "no mapping")
  const at: Path = [...path, "litellm_params"]
  const model = text(params["model"])
  const modelAt = [...at, "model"]
  if (model === undefined || !isName(model)) return leave(modelAt, "no name of a model")
  const deployed = deployedModel(model, text(params["custom_llm_provider"]))
  if (deployed === undefined) return leave(modelAt, "its provider is not known here")
  const isPattern = group.includes("*")
  const follows = deployed.model === "*"
  if (deployed.model.includes("*") && !(follows && group === "*"))
    return leave(
      modelAt,
      isPattern
        ? 'clients ask with a word before the name, which is not taken away: let them ask for the name alone, under model_name: "*"'
        : "a name that stands for every model"
    )
  const settings = paramsOf(ledger, deployed, params, at, group)
  if (settings === undefined) return undefined
  ledger.exact(nameAt, "the name that clients ask for")
  if (deployed.prefix === "" && deployed.provider === "vertex")
    ledger.tell("approximate", modelAt, "taken for a model of Vertex AI")
  else ledger.exact(modelAt, `${deployed.provider}, ${follows ? "whatever is asked for" : deployed.model}`)
  if (params["custom_llm_provider"] !== undefined) ledger.exact([...at, "custom_llm_provider"], deployed.provider)
  const defaults: Record<string, unknown> = {}
  for (const [key, value] of Object.entries(params))
    if (requestParameters.has(key) && value !== null && !isVariable(value)) {
      defaults[key] = value
      ledger.exact([...at, key], "a default of the request")
    }
  const weight = positive(params["weight"])
  if (weight !== undefined) ledger.exact([...at, "weight"], "the weight among the deployments of the name")
  const order = positive(params["order"])
  if (order !== undefined) ledger.exact([...at, "order"], "the rank among the deployments of the name")
  return {
    group,
    path,
    weight: weight ?? 1,
    order: order ?? 1,
    settings: {
      provider: deployed.provider,
      params: { ...(follows ? {} : { model: deployed.model }), ...settings },
      ...(Object.keys(defaults).length === 0 ? {} : { defaults })
    }
  }
}
