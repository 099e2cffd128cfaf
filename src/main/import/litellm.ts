/** The configuration file of LiteLLM's proxy as one of ours: model_list, router_settings, general_settings and litellm_settings. */
import type { Path } from "../../../spec/config/path.ts"
import type { Imported } from "./imported.ts"
import { isMembers, Ledger, type Members } from "./ledger.ts"
import { type Deployment, deploymentOf } from "./litellm-deployment.ts"
import { credential, isName, positive, text } from "./litellm-values.ts"

/** What there is nothing for, and what to do instead. */
const left: Readonly<Record<string, string>> = {
  rpm: "limits of one deployment are not there yet; llm.policies.localRateLimit limits all models",
  tpm: "limits of one deployment are not there yet; llm.policies.localRateLimit limits all models",
  max_parallel_requests: "limits of one deployment are not there yet",
  timeout: "time limits of one model are not there; the policy timeout bounds the calls of a route",
  stream_timeout: "time limits of one model are not there; the policy timeout bounds the calls of a route",
  request_timeout: "the policy timeout bounds the calls of a route",
  max_retries: "tries of one model are not counted apart: num_retries of router_settings becomes the policy retry",
  num_retries: "tries of one model are not counted apart: num_retries of router_settings becomes the policy retry",
  retry_policy: "the policy retry has one number for all errors",
  aws_access_key_id: "calls are not signed yet: make a key for Bedrock, and put it in AWS_BEARER_TOKEN_BEDROCK",
  aws_secret_access_key: "calls are not signed yet: make a key for Bedrock, and put it in AWS_BEARER_TOKEN_BEDROCK",
  aws_session_token: "calls are not signed yet: make a key for Bedrock, and put it in AWS_BEARER_TOKEN_BEDROCK",
  vertex_credentials: "files of credentials are not read yet: put an access token in VERTEX_ACCESS_TOKEN",
  tenant_id: "identities of Azure are not there yet: use a key",
  client_id: "identities of Azure are not there yet: use a key",
  client_secret: "identities of Azure are not there yet: use a key",
  azure_ad_token: "identities of Azure are not there yet: use a key",
  callbacks: "nothing is called back; metrics, spans and the access log tell of every request",
  success_callback: "nothing is called back; metrics, spans and the access log tell of every request",
  failure_callback: "nothing is called back; metrics, spans and the access log tell of every request",
  cache: "answers are not cached",
  cache_params: "answers are not cached",
  database_url: "there is no database: keys stand in llm.policies.apiKey.keys",
  context_window_fallbacks: "only health decides about a fallback",
  content_policy_fallbacks: "only health decides about a fallback",
  guardrails: "write guards as llm.guardrails",
  mcp_servers: "write MCP servers as mcp.targets",
  redis_host: "state is kept in this process",
  redis_port: "state is kept in this process",
  redis_password: "state is kept in this process"
}
const nothingFor = "there is nothing for it"

const strategies: Readonly<Record<string, string>> = {
  "simple-shuffle": "targets are drawn by weight",
  "usage-based-routing": "targets are drawn by weight, not by usage",
  "usage-based-routing-v2": "targets are drawn by weight, not by usage",
  "latency-based-routing": "targets are drawn by weight, not by latency",
  "least-busy": "targets are drawn by weight, not by load",
  "cost-based-routing": "targets are drawn by weight, not by price"
}

/** Fallbacks as LiteLLM writes them: a list of mappings from a name to names. */
const fallbacksOf = (ledger: Ledger, value: unknown, path: Path): ReadonlyMap<string, ReadonlyArray<string>> => {
  const found = new Map<string, ReadonlyArray<string>>()
  if (value === undefined) return found
  if (!Array.isArray(value)) {
    ledger.tell("unsupported", path, "no list")
    return found
  }
  for (const [index, each] of value.entries())
    for (const [name, targets] of isMembers(each) ? Object.entries(each) : []) {
      const names = (Array.isArray(targets) ? targets : []).filter((target) => text(target) !== undefined)
      if (names.length > 0) found.set(name, names)
      else ledger.tell("unsupported", [...path, index, name], "no list of names")
    }
  return found
}

/** Failures that LiteLLM tries again. */
const triedAgain = [408, 429, 500, 502, 503, 504]

/** The route that all models are on. */
const routeOfModels = { route: { name: "llm:request", namespace: "internal" } }

/** Everything that stands in it, two steps below its sections, has its finding. */
export const fromLitellm = (file: unknown): Imported => {
  const ledger = new Ledger()
  if (!isMembers(file)) {
    ledger.tell("unsupported", [], "no configuration of LiteLLM: it is a mapping with model_list")
    return { values: {}, findings: ledger.findings, variables: new Map() }
  }
  const section = (name: string): Members => (isMembers(file[name]) ? file[name] : {})
  const router = section("router_settings")
  const general = section("general_settings")
  const litellm = section("litellm_settings")

  const list = Array.isArray(file["model_list"]) ? file["model_list"] : []
  const deployments = list.flatMap((entry, index) => deploymentOf(ledger, entry, ["model_list", index]) ?? [])
  const groups = new Map<string, ReadonlyArray<Deployment>>()
  for (const each of deployments) groups.set(each.group, [...(groups.get(each.group) ?? []), each])

  const routed = fallbacksOf(ledger, router["fallbacks"], ["router_settings", "fallbacks"])
  const ofLitellm = fallbacksOf(ledger, litellm["fallbacks"], ["litellm_settings", "fallbacks"])
  const fallbacks = new Map([...ofLitellm, ...routed])
  const others = Array.isArray(litellm["default_fallbacks"])
    ? litellm["default_fallbacks"].flatMap((each) => text(each) ?? [])
    : []

  const cooldown = positive(router["cooldown_time"])
  const failures = positive(router["allowed_fails"] ?? litellm["allowed_fails"])
  const health = {
    eviction: { duration: `${cooldown ?? 5}s`, ...(failures === undefined ? {} : { consecutiveFailures: failures }) }
  }

  // Where both have one, the router's counts.
  const retrying = router["num_retries"] === undefined ? "litellm_settings" : "router_settings"
  const asked = positive(section(retrying)["num_retries"])
  const retries = asked && Math.min(asked, 255)
  if (retries !== undefined)
    ledger.tell(
      "approximate",
      [retrying, "num_retries"],
      `the policy retry: further tries, also of a fallback, after a failed call and the statuses ${triedAgain.join(", ")}`
    )
  /** Where a request that failed goes. */
  const nextCall =
    retries === undefined
      ? "the next request goes to the fallback, not the one that failed"
      : "the next try, or the next request, goes to the fallback once the model is left alone"

  const models: Array<Members> = []
  const virtualModels: Array<Members> = []
  /** The models behind a name, by what virtual models call them. */
  const targets = new Map<
    string,
    ReadonlyArray<{ readonly model: string; readonly weight: number; readonly order: number }>
  >()
  const taken = new Set(groups.keys())
  const watched = fallbacks.size > 0 || others.length > 0 || deployments.some(({ order }) => order > 1)
  for (const [group, all] of groups) {
    const isPattern = group.includes("*")
    const kept = isPattern ? all.slice(0, 1) : all
    for (const { path } of all.slice(kept.length))
      ledger.tell("unsupported", [...path, "model_name"], "a pattern has one deployment: this one is left out")
    const fallback = (fallbacks.get(group) ?? others).filter(
      (name) => name !== group && groups.has(name) && !name.includes("*")
    )
    const isAlone = kept.length === 1 && (isPattern || fallback.length === 0)
    const names = kept.map((each, index) => {
      let name = isAlone ? group : `${group}/${index + 1}`
      while (!isAlone && taken.has(name)) name += "+"
      taken.add(name)
      const { settings } = each
      models.push({ name, ...(isAlone ? {} : { visibility: "internal" }), ...settings, ...(watched ? { health } : {}) })
      return { model: name, weight: each.weight, order: each.order }
    })
    targets.set(group, names)
  }
  for (const [group, own] of targets) {
    const fallback = (fallbacks.get(group) ?? others).filter(
      (name) => name !== group && groups.has(name) && !name.includes("*")
    )
    if (own.length === 1 && own[0]!.model === group) continue
    const ranks = [...new Set(own.map(({ order }) => order))].sort((a, b) => a - b)
    const isRanked = fallback.length > 0 || ranks.length > 1
    const later = fallback.flatMap((name, index) =>
      targets.get(name)!.map(({ model }) => ({ model, priority: ranks.length + index }))
    )
    const first = own.map(({ model, order }) => ({ model, priority: ranks.indexOf(order) }))
    virtualModels.push({
      name: group,
      routing: isRanked
        ? { failover: { targets: [...first, ...later] } }
        : { weighted: { targets: own.map(({ model, weight }) => ({ model, weight })) } }
    })
  }
  for (const [path, all] of [
    [["router_settings", "fallbacks"], routed],
    [["litellm_settings", "fallbacks"], ofLitellm]
  ] as const)
    for (const [name, names] of all) {
      const missing = [name, ...names].filter((each) => !groups.has(each) || each.includes("*"))
      const told = [...path, name]
      if (missing.length > 0)
        ledger.tell("unsupported", told, `no name of one model that is taken over: ${missing.join(", ")}`)
      else ledger.tell("approximate", told, nextCall)
    }
  if (router["fallbacks"] !== undefined)
    ledger.otherwise("approximate", ["router_settings", "fallbacks"], "ranks of virtual models")
  if (litellm["fallbacks"] !== undefined)
    ledger.otherwise("approximate", ["litellm_settings", "fallbacks"], "ranks of virtual models")
  if (litellm["default_fallbacks"] !== undefined)
    ledger.tell("approximate", ["litellm_settings", "default_fallbacks"], nextCall)

  const aliases = router["model_group_alias"]
  if (isMembers(aliases))
    for (const [alias, value] of Object.entries(aliases)) {
      const path = ["router_settings", "model_group_alias", alias]
      const target = text(isMembers(value) ? value["model"] : value)
      const leads = target === undefined ? undefined : targets.get(target)
      if (leads === undefined || target!.includes("*") || !isName(alias) || alias.includes("*") || taken.has(alias))
        ledger.tell("unsupported", path, "it leads to no model that is taken over, or its name has another meaning")
      else {
        taken.add(alias)
        virtualModels.push({
          name: alias,
          routing: { weighted: { targets: leads.map(({ model, weight }) => ({ model, weight })) } }
        })
        const isHidden = isMembers(value) && value["hidden"] === true
        ledger.tell(
          isHidden ? "approximate" : "exact",
          path,
          `another name of ${target}${isHidden ? ", in the list of models as well" : ""}`
        )
      }
    }
  const strategy = text(router["routing_strategy"])
  if (strategy !== undefined && Object.hasOwn(strategies, strategy))
    ledger.tell(
      strategy === "simple-shuffle" ? "exact" : "approximate",
      ["router_settings", "routing_strategy"],
      strategies[strategy]!
    )
  if (cooldown !== undefined)
    ledger.tell("approximate", ["router_settings", "cooldown_time"], "how long a model that fails is left alone")
  if (failures !== undefined)
    ledger.tell(
      "approximate",
      [router["allowed_fails"] === undefined ? "litellm_settings" : "router_settings", "allowed_fails"],
      "failures in a row before a model is left alone"
    )

  const logging: Record<string, unknown> = {}
  if (litellm["json_logs"] === true) {
    logging["format"] = "json"
    ledger.exact(["litellm_settings", "json_logs"], "config.logging.format")
  }
  if (litellm["set_verbose"] === true) {
    logging["level"] = "debug"
    ledger.tell("approximate", ["litellm_settings", "set_verbose"], "config.logging.level")
  }
  for (const key of ["json_logs", "set_verbose"] as const)
    if (litellm[key] === false) ledger.exact(["litellm_settings", key], "as it is without")
  if (litellm["drop_params"] !== undefined)
    ledger.tell(
      "approximate",
      ["litellm_settings", "drop_params"],
      "translation leaves out what the other interface does not have, or refuses it"
    )

  const master = general["master_key"]
  const key =
    master === undefined
      ? undefined
      : credential(ledger, master, ["general_settings", "master_key"], "LITELLM_MASTER_KEY")
  if (key === undefined)
    ledger.tell(
      "approximate",
      ["general_settings"],
      "without a master_key, this machine alone is served; it was every other before"
    )

  const variables = file["environment_variables"]
  if (isMembers(variables))
    for (const name of Object.keys(variables))
      ledger.tell("manual", ["environment_variables", name], "set it where the proxy is started")

  everything(ledger, file)
  const values = {
    config: {
      statsAddr: "localhost:15020",
      readinessAddr: "localhost:15021",
      ...(Object.keys(logging).length === 0 ? {} : { logging })
    },
    gateways: { default: { port: 4000, ...(key === undefined ? { address: "localhost" } : {}) } },
    llm: {
      models,
      ...(virtualModels.length === 0 ? {} : { virtualModels }),
      ...(key === undefined
        ? {}
        : { policies: { apiKey: { mode: "strict", keys: [{ key, metadata: { user: "master" } }] } } })
    },
    ...(retries === undefined
      ? {}
      : {
          policies: [
            {
              name: { name: "retries", namespace: "default" },
              target: routeOfModels,
              policy: { retry: { attempts: retries, codes: triedAgain } }
            }
          ]
        })
  }
  return { values, findings: ledger.findings, variables: ledger.variables }
}

/** Gives what has no finding yet the word that there is nothing for it. */
const everything = (ledger: Ledger, file: Members): void => {
  const tell = (path: Path) => {
    const key = String(path.at(-1))
    ledger.otherwise("unsupported", path, Object.hasOwn(left, key) ? left[key]! : nothingFor)
  }
  for (const [name, value] of Object.entries(file)) {
    if (name === "model_list" && Array.isArray(value)) {
      for (const [index, entry] of value.entries()) {
        if (!isMembers(entry)) continue
        for (const [key, each] of Object.entries(entry)) {
          const path: Path = [name, index, key]
          if ((key === "litellm_params" || key === "model_info") && isMembers(each))
            for (const inner of Object.keys(each)) tell([...path, inner])
          else tell(path)
        }
      }
    } else if (isMembers(value) && (name.endsWith("_settings") || name === "environment_variables")) {
      for (const [key, each] of Object.entries(value))
        if (!(key === "model_group_alias" && isMembers(each))) tell([name, key])
    } else tell([name])
  }
}
