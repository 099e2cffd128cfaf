/** Prompt guards beside paths that are forwarded unread: what a client sends there passes them by. */
import { Result } from "effect"
import { formatPath, type Path } from "../../../spec/config/path.ts"
import type { Complaint } from "../../../spec/config/positions.ts"
import type { PromptGuard } from "../../../spec/guardrails.ts"
import type { PathRewrite } from "../../../spec/rewrite.ts"
import type { Rule } from "../../../spec/rules.ts"
import type { RouteMatch } from "../../../spec/standalone/route.ts"
import { compile } from "../../cel/expression.ts"
import { attachments } from "../attach.ts"
import { type BackendLevel, mergeBackendPolicies, type PolicyAttachment } from "../merge.ts"
import type { Model } from "../models.ts"
import { type AttachedPolicy, type PolicyBranch, type ProviderGroup, writtenAt } from "../normalised.ts"
import type { Configuration } from "../read.ts"
import { routesWithListeners, warn } from "./finding.ts"

/** What the `ai` policy decodes to, as far as it matters here. */
interface AiLike {
  readonly promptGuard?: PromptGuard
  readonly routes?: Readonly<Record<string, string>>
}

/** The ends of paths that carry conversations, which are what guards read, with what they speak. */
export const conversations: Readonly<Record<string, string>> = {
  "/v1/chat/completions": "completions",
  "/v1/messages": "messages",
  "/v1/responses": "responses",
  ":generateContent": "generateContent",
  ":streamGenerateContent": "generateContent",
  ":rawPredict": "messages",
  ":streamRawPredict": "messages"
}

const unread = new Set(["detect", "passthrough"])

/** Every guarded model and provider that is also reached by paths which no guard reads. */
export const unguarded = ({ normalised }: Configuration): ReadonlyArray<Complaint> => {
  const attachedTo = attachments(normalised)
  const told = new Map<string, Complaint>()
  for (const { route, listeners } of routesWithListeners(normalised))
    for (const reference of route.backends) {
      const { target, weight } = reference
      const backend = target.kind === "backend" && weight > 0 ? normalised.backends[target.key] : undefined
      if (backend?.destination.kind !== "llm" && backend?.destination.kind !== "ai") continue
      for (const listener of listeners) {
        const attached = attachedTo(listener)
        const wider = attached.backend([route], backend, reference)
        const all = [...attached.gateway, ...attached.route([route]), ...wider]
        if (all.some(({ policies }) => Object.values(policies).some(judgesPaths))) continue
        const { destination } = backend
        const found =
          destination.kind === "llm"
            ? besideModels(destination.config.models)
            : besideProviders(destination.config.groups, wider, route.matches)
        for (const complaint of found) told.set(JSON.stringify(complaint.path), complaint)
      }
    }
  return [...told.values()]
}

/** Where the guards of an `ai` policy were written, if it has any. */
const guardsOf = (branch: PolicyBranch): Path | undefined => {
  const { request = [], response = [] } = (branch.config as AiLike).promptGuard ?? {}
  if (request.length === 0 && response.length === 0) return undefined
  // Those of the `llm` section come from several places, and each of them knows its own.
  return writtenAt(branch, ["promptGuard", request.length > 0 ? "request" : "response", 0]).slice(0, -2)
}

/** Models of the `llm` section forward every path that is not known where `passthrough` is written beside their guards: without a rule about paths, any client may use one. The mock has nobody to forward to. */
const besideModels = (models: ReadonlyArray<Model>): ReadonlyArray<Complaint> =>
  models.flatMap(({ provider, policies, passthrough, path }) =>
    (provider.kind === "mock" || passthrough === undefined ? [] : (policies["ai"]?.branches ?? [])).flatMap(
      (branch) => {
        const guards = guardsOf(branch)
        if (guards === undefined || Object.values(policies).some(judgesPaths)) return []
        return [
          warn(
            "unguarded-path",
            [...path, "passthrough"],
            `the guards at ${formatPath(guards)} read conversations alone: with this all other paths (/v1/completions, /v1/images/generations, unknown ones) are forwarded past them; leave it out, or admit the paths in use by a rule in llm.policies.authorization, such as require: request.path.endsWith("/v1/chat/completions")`,
            "key"
          )
        ]
      }
    )
  )

/** What is in force for each provider of a backend, and which entries of `routes` leave the guards out. */
const besideProviders = (
  groups: ReadonlyArray<ProviderGroup>,
  wider: ReadonlyArray<PolicyAttachment<BackendLevel>>,
  matches: ReadonlyArray<RouteMatch>
): ReadonlyArray<Complaint> =>
  groups.flatMap(({ providers }) =>
    providers.flatMap(({ policies }) => {
      const inForce = mergeBackendPolicies([...wider, { level: "provider", key: "", policies }])
      return (inForce["ai"]?.branches ?? []).flatMap((branch) => {
        const guards = guardsOf(branch)
        if (guards === undefined) return []
        return [...leaks((branch.config as AiLike).routes ?? {}, matches)].map(([end, speaks]) =>
          warn(
            "unguarded-path",
            writtenAt(branch, ["routes", end]),
            speaks === undefined
              ? `every path without an entry of its own is forwarded past the guards at ${formatPath(guards)}; leave "*" out and write what each path in use speaks`
              : end === "*"
                ? `conversations without an entry of their own are refused because of the guards at ${formatPath(guards)}; write an entry that says ${speaks}`
                : `conversations on this path are forwarded past the guards at ${formatPath(guards)}; write ${speaks} instead`
          )
        )
      })
    })
  )

/** The entries by which requests that a route matches are forwarded unread, each with what the path speaks; nothing for `*`, which is any path. */
const leaks = (
  routes: Readonly<Record<string, string>>,
  matches: ReadonlyArray<RouteMatch>
): ReadonlyMap<string, string | undefined> => {
  const ends = Object.keys(routes)
    .filter((end) => end !== "*")
    .toSorted((a, b) => b.length - a.length)
  const entryOf = (path: string) => ends.find((end) => path.endsWith(end)) ?? "*"
  const isUnread = (end: string) => unread.has(routes[end] ?? "completions")
  const found = new Map<string, string | undefined>()
  for (const match of matches) {
    const { exact } = match.path
    const open = isOpen(match)
    if (open && isUnread("*")) found.set("*", undefined)
    for (const [conversation, speaks] of Object.entries(conversations)) {
      const paths = open
        ? [conversation, ...ends.filter((end) => end.endsWith(conversation))]
        : exact?.endsWith(conversation)
          ? [exact]
          : []
      for (const end of paths.map(entryOf).filter(isUnread)) if (!found.has(end)) found.set(end, speaks)
    }
  }
  return found
}

/** Whether a match lets any path below its own in. What a regular expression lets in is not looked into. */
const isOpen = ({ path: { pathPrefix } }: RouteMatch): boolean =>
  pathPrefix !== undefined && !Object.keys(conversations).some((end) => pathPrefix.endsWith(end))

const elsewhere = new Set(["extAuthz", "extProc", "directResponse", "requestRedirect"])

/** Whether a policy may keep paths from getting through, or may replace them: then a file does not tell what models are asked. */
const judgesPaths = ({ name, branches }: AttachedPolicy): boolean => {
  if (elsewhere.has(name)) return true
  return branches.some(({ config }) => {
    switch (name) {
      case "authorization":
        return (config as { readonly rules: ReadonlyArray<Rule> }).rules.some(({ expression }) => readsPath(expression))
      case "urlRewrite":
        return (config as { readonly path?: typeof PathRewrite.Type }).path?.full !== undefined
      case "transformations":
        return JSON.stringify(config).includes('":path"')
      default:
        return false
    }
  })
}

/** The body counts as well: what a conversation has, other requests lack. */
const telling = ["request", "request.path", "request.uri", "request.pathAndQuery", "request.body"]

const readsPath = (source: string): boolean => {
  const compiled = compile(source, { phase: undefined, unchecked: true })
  if (Result.isFailure(compiled)) return true
  const { roots, paths } = compiled.success.attributes
  return roots.has("llmRequest") || telling.some((path) => paths.has(path))
}
