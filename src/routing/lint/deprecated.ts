/** Forms that still work, with what has replaced them. */
import type { Path } from "../../../spec/config/path.ts"
import type { Complaint } from "../../../spec/config/positions.ts"
import type { Configuration } from "../read.ts"
import { warn } from "./finding.ts"

/** Those at a fixed place. */
export const fixedForms: ReadonlyArray<readonly [path: Path, replacement: string]> = [
  [["config", "tracing"], "frontendPolicies.tracing"],
  [["config", "logging", "filter"], "frontendPolicies.accessLog.filter"],
  [["config", "logging", "fields"], "frontendPolicies.accessLog.add and remove"],
  [["llm", "port"], "a gateway, and llm.gateways"],
  [["llm", "tls"], "a gateway with tls, and llm.gateways"],
  [["mcp", "port"], "a gateway, and mcp.gateways"]
]

/** Every use of them. */
export const deprecated = ({ file, positions }: Configuration): ReadonlyArray<Complaint> => {
  const models = (file.llm?.models ?? []).map((_, index): Path => ["llm", "models", index, "params", "hostOverride"])
  const providers = (file.llm?.providers ?? []).map(
    (_, index): Path => ["llm", "providers", index, "params", "hostOverride"]
  )
  const overrides = [...models, ...providers].map((path) => [path, "params.baseUrl"] as const)
  return [...fixedForms, ...overrides]
    .filter(([path]) => positions.has(path))
    .map(([path, replacement]) => warn("deprecated", path, `deprecated: use ${replacement}`, "key"))
}
