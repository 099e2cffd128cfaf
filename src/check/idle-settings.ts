/**
 * Settings that a file writes and that nothing in this build applies: told as warnings, so that nobody relies on them. One
 * that is written as what holds anyway is none of them.
 */
import { isDeepStrictEqual } from "node:util"
import type { Complaint, Positions } from "../../spec/config/positions.ts"
import type { Variable } from "../../spec/environment.ts"
import { defaultSettings, type Settings } from "../../spec/standalone/settings.ts"

/** Below `config`. */
const applied = new Set([
  "adminAddr",
  "statsAddr",
  "readinessAddr",
  "enableIpv6",
  "connectionTerminationDeadline",
  "connectionMinTerminationDeadline",
  "reloadTerminationDeadline",
  "maxTotalBufferSize",
  "overload",
  "logging.level",
  "logging.format",
  "session",
  "mcp",
  "backend",
  "dns.lookupFamily",
  "metrics.remove",
  "modelCatalog",
  "namespace",
  "gateway",
  "sensitiveHeaders",
  "customFunctions"
])
const sections = new Set(["logging", "dns", "metrics"])

/** Environment variables that stand for no setting. */
const appliedVariables = /^(?:OTLP_|OTEL_|POD_NAME$|NODE_NAME$|READY_FD$)/

/** Whether nothing in this build applies what an environment variable says. */
export const isIdle = ({ name, setting }: Pick<Variable, "name" | "setting">): boolean =>
  setting === undefined ? !appliedVariables.test(name) : !applied.has(setting) && !applied.has(setting.split(".")[0]!)

export const idleSettings = (settings: Settings, positions: Positions): ReadonlyArray<Complaint> => {
  const keys = Object.entries(settings).flatMap(([key, value]) => {
    const all = sections.has(key) ? Object.keys(value ?? {}).map((inner) => [key, inner]) : [[key]]
    const idle = all.filter((each) => !applied.has(each.join(".")) && positions.has(["config", ...each]))
    return idle.length === 0 || isDeepStrictEqual(value, defaultSettings()[key as keyof Settings]) ? [] : idle
  })
  return keys.map((key) => ({
    path: ["config", ...key],
    message: "has no effect yet",
    severity: "warning",
    code: "unavailable"
  }))
}
