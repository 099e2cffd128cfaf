/** Prompt guards beside paths that are forwarded unread: what a client sends there passes them by. */
import { Result } from "effect"
import { formatPath, type Path } from "../../../spec/config/path.ts"
import type { Complaint } from "../../../spec/config/positions.ts"
import type { PolicySpecs } from "../../../spec/standalone/policies.ts"
import type { RouteMatch } from "../../../spec/standalone/route.ts"
import type { Guarding } from "../../../spec/traits.ts"
import { compile } from "../../cel/expression.ts"
import { attachments } from "../attach.ts"
import { type BackendLevel, merging, type PolicyAttachment } from "../merge.ts"
import type { Model } from "../models.ts"
import { type Policies, type PolicyBranch, type ProviderGroup, wholeAt, writtenAt } from "../normalised.ts"
import type { Configuration } from "../read.ts"
import { routesWithListeners, warn } from "./finding.ts"

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
export const unguarded = ({ normalised, specs }: Configuration): ReadonlyArray<Complaint> => {
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
        if (all.some(({ policies }) => judgesPaths(policies, specs))) continue
        const { destination } = backend
        const found =
          destination.kind === "llm"
            ? besideModels(destination.config.models, specs)
            : besideProviders(destination.config.groups, wider, route.matches, specs)
        for (const complaint of found) told.set(JSON.stringify(complaint.path), complaint)
      }
    }
  return [...told.values()]
}

/** Guards, and where they and what the paths speak were written. */
interface Written extends Guarding {
  readonly branch: PolicyBranch
  readonly guards: Path
}

const guardsAmong = (policies: Policies, specs: PolicySpecs): ReadonlyArray<Written> =>
  Object.values(policies).flatMap(({ name, branches }) =>
    branches.flatMap((branch) => {
      const found = specs[name]?.guards?.(branch.config)
      return found === undefined ? [] : [{ ...found, branch, guards: wholeAt(branch, found.path) }]
    })
  )

/** Models of the `llm` section forward every path that is not known where `passthrough` is written beside their guards: without a rule about paths, any client may use one. The mock has nobody to forward to. */
const besideModels = (models: ReadonlyArray<Model>, specs: PolicySpecs): ReadonlyArray<Complaint> =>
  models.flatMap(({ provider, policies, passthrough, path }) =>
    provider.kind === "mock" || passthrough === undefined || judgesPaths(policies, specs)
      ? []
      : guardsAmong(policies, specs).map(({ guards }) =>
          warn(
            "unguarded-path",
            [...path, "passthrough"],
            `the guards at ${formatPath(guards)} read conversations alone: with this all other paths (/v1/completions, /v1/images/generations, unknown ones) are forwarded past them; leave it out, or admit the paths in use by a rule in llm.policies.authorization, such as require: request.path.endsWith("/v1/chat/completions")`,
            "key"
          )
        )
  )

/** What is in force for each provider of a backend, and which entries of `routes` leave the guards out. */
const besideProviders = (
  groups: ReadonlyArray<ProviderGroup>,
  wider: ReadonlyArray<PolicyAttachment<BackendLevel>>,
  matches: ReadonlyArray<RouteMatch>,
  specs: PolicySpecs
): ReadonlyArray<Complaint> => {
  const merge = merging(specs).backend
  return groups.flatMap(({ providers }) =>
    providers.flatMap(({ policies }) =>
      guardsAmong(merge([...wider, { level: "provider", key: "", policies }]), specs).flatMap(
        ({ branch, guards, routes, routesAt }) =>
          [...leaks(routes, matches)].map(([end, speaks]) =>
            warn(
              "unguarded-path",
              writtenAt(branch, [...routesAt, end]),
              speaks === undefined
                ? `every path without an entry of its own is forwarded past the guards at ${formatPath(guards)}; leave "*" out and write what each path in use speaks`
                : end === "*"
                  ? `conversations without an entry of their own are refused because of the guards at ${formatPath(guards)}; write an entry that says ${speaks}`
                  : `conversations on this path are forwarded past the guards at ${formatPath(guards)}; write ${speaks} instead`
            )
          )
      )
    )
  )
}

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

/** Whether one of them may keep paths from getting through, or may replace them: then a file does not tell what models are asked. */
const judgesPaths = (policies: Policies, specs: PolicySpecs): boolean =>
  Object.values(policies).some(({ name, branches }) => {
    const spec = specs[name]
    return branches.some(
      ({ config }) =>
        spec?.judgesPaths?.(config) === true ||
        spec?.expressions?.(config).some(({ source }) => readsPath(source)) === true
    )
  })

/** The body counts as well: what a conversation has, other requests lack. */
const telling = ["request", "request.path", "request.uri", "request.pathAndQuery", "request.body"]

const readsPath = (source: string): boolean => {
  const compiled = compile(source, { phase: undefined, unchecked: true })
  if (Result.isFailure(compiled)) return true
  const { roots, paths } = compiled.success.attributes
  return roots.has("llmRequest") || telling.some((path) => paths.has(path))
}
