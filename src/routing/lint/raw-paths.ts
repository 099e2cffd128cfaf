/** Policies that decide by a path which stays as it was received: whoever spells it in another way walks around them. */
import { Result } from "effect"
import type { Path } from "../../../spec/config/path.ts"
import type { Complaint } from "../../../spec/config/positions.ts"
import { compile } from "../../cel/expression.ts"
import { readsPath } from "../../pipeline/readings.ts"
import { attachments } from "../attach.ts"
import type { Route } from "../normalised.ts"
import type { Configuration } from "../read.ts"
import { isAuthenticating } from "./exposure.ts"
import { routesWithListeners, warn } from "./finding.ts"
import { decidingExpressions, functionsOf } from "./rules.ts"

/** Every rule and condition over a raw path, and every policy of access that only some paths lead through. */
export const rawPaths = (configuration: Configuration): ReadonlyArray<Complaint> => {
  const { normalised, specs } = configuration
  if (normalised.frontend.http?.paths !== "raw") return []
  const functions = functionsOf(normalised)
  const told = new Map<string, Complaint>()
  const tell = (path: Path, what: string) =>
    told.set(
      path.join("/"),
      warn(
        "raw-paths",
        path,
        `${what}, which frontendPolicies.http.paths leaves as it came: another spelling that a backend reads as the same path is decided differently`
      )
    )
  for (const { source, path } of decidingExpressions(configuration)) {
    const compiled = compile(source, { phase: undefined, unchecked: true, functions })
    if (Result.isSuccess(compiled) && readsPath(compiled.success)) tell(path, "this reads the path")
  }
  const attachedTo = attachments(normalised)
  for (const { route, listeners } of routesWithListeners(normalised)) {
    if (!isOfSomePaths(route)) continue
    for (const listener of listeners.length === 0 ? [undefined] : listeners)
      for (const { level, policies } of attachedTo(listener).route([route]))
        if (ofRoutes.has(level))
          for (const { name, path } of Object.values(policies))
            if (isAuthenticating(specs, name)) tell(path, `${name} holds for some paths only`)
  }
  return [...told.values()]
}

/** The levels at which a policy holds for the paths of one route. */
const ofRoutes: ReadonlySet<string> = new Set(["route", "rule", "inline"])

const isOfSomePaths = ({ matches }: Route): boolean =>
  matches.every(({ path: { pathPrefix } }) => pathPrefix === undefined || /[^/]/.test(pathPrefix))
