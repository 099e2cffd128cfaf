/** Azure AI Content Safety: text analysis by severity and blocklists, and jailbreak detection for requests. */
import { elements, member, parseJson } from "../../formats/json.ts"
import { failed, type GuardCall, isSuccess, type ManagedVerdict, passed, rejected } from "./verdict.ts"

/** Text analysis: what rejects. */
export interface AnalyzeText {
  /** From this severity on a category rejects. Default 2. */
  readonly severityThreshold?: number
  readonly apiVersion?: string
  readonly blocklistNames?: ReadonlyArray<string>
  readonly haltOnBlocklistHit?: boolean
}

/** Jailbreak detection. */
export interface DetectJailbreak {
  readonly apiVersion?: string
}

const defaultSeverity = 2

/** `endpoint` may be written with a scheme. */
const hostOf = (endpoint: string): string => endpoint.replace(/^https?:\/\//, "").replace(/\/+$/, "")

const call = (endpoint: string, operation: string, apiVersion: string, body: object): GuardCall => ({
  host: hostOf(endpoint),
  path: `/contentsafety/text:${operation}?api-version=${encodeURIComponent(apiVersion)}`,
  body: JSON.stringify(body)
})

/** Asks for the severity of a text by category and for blocklist hits. */
export const analyzeTextCall = (endpoint: string, options: AnalyzeText, text: string): GuardCall =>
  call(endpoint, "analyze", options.apiVersion ?? "2024-09-01", {
    text,
    ...(options.blocklistNames === undefined ? {} : { blocklistNames: options.blocklistNames }),
    ...(options.haltOnBlocklistHit === undefined ? {} : { haltOnBlocklistHit: options.haltOnBlocklistHit })
  })

/** Rejects from the configured severity on, and for any blocklist hit. */
export const readAnalyzeText = (options: AnalyzeText, status: number, body: string): ManagedVerdict => {
  const reply = parseJson(body)
  const categories = member(reply, "categoriesAnalysis")
  const hits = member(reply, "blocklistsMatch")
  if (!isSuccess(status) || (!Array.isArray(categories) && !Array.isArray(hits))) return failed
  const threshold = options.severityThreshold ?? defaultSeverity
  const severe = elements(categories).some((category) => {
    const severity = member(category, "severity")
    return typeof severity === "number" && severity >= threshold
  })
  return severe || elements(hits).length > 0 ? rejected : passed
}

/** Asks whether a prompt tries to break out. For requests only. */
export const detectJailbreakCall = (endpoint: string, options: DetectJailbreak, text: string): GuardCall =>
  call(endpoint, "detectJailbreak", options.apiVersion ?? "2024-02-15-preview", { text })

/** Rejects what was detected. */
export const readDetectJailbreak = (status: number, body: string): ManagedVerdict => {
  const detected = member(member(parseJson(body), "jailbreakAnalysis"), "detected")
  if (!isSuccess(status) || typeof detected !== "boolean") return failed
  return detected ? rejected : passed
}
