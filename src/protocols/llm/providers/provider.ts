/** One configured provider, compiled: what it speaks, and where each call goes. */
import { Data } from "effect"
import type { UpstreamFormat } from "../formats/format.ts"
import { copilotFormats, isBedrockClaude, vertexClaudeId, vertexGemini } from "./model-family.ts"
import { geminiResource, modelSegment } from "./model-segment.ts"
import { type PresetName, presets } from "./presets.ts"
import type { AddressOverride, CustomSettings, ProviderKind, ProviderSettings } from "./settings.ts"
import * as Table from "./table.ts"
import { type Call, type CompiledRow, compileRow, type Target } from "./target.ts"
import type { WireFormat } from "./wire-format.ts"

/** The provider (with this model) has no API of that format, or the model's name cannot be part of a path. */
export class NoSuchEndpoint extends Data.TaggedError("NoSuchEndpoint")<{
  readonly provider: string
  readonly format: WireFormat
  readonly model: string
}> {
  readonly status = 400
  readonly source = "client"
  override get message() {
    return `unsupported conversion: ${this.provider} does not serve ${this.format} for this model`
  }
}

/** A compiled provider. */
export interface Provider {
  readonly kind: ProviderKind
  /** Name in telemetry and in the cost catalogue. */
  readonly name: string
  /** What this provider takes for a model. `tags`: those of the model in the cost catalogue. */
  readonly formats: (model: string, tags?: ReadonlyArray<string>) => ReadonlyArray<UpstreamFormat>
  readonly target: (call: Call) => Target | NoSuchEndpoint
  /** Copilot hands out Claude's usage as Anthropic counts it, whatever the format: cache tokens are not part of the input. */
  readonly cacheOutsideInput: (model: string) => boolean
}

const telemetryNames: Readonly<Record<Exclude<ProviderKind, "custom">, string>> = {
  openai: "openai",
  anthropic: "anthropic",
  gemini: "gcp.gemini",
  vertex: "gcp.vertex_ai",
  bedrock: "aws.bedrock",
  azure: "azure",
  copilot: "copilot"
}

/** Picks the row for a model, and says how the model is written in paths. */
type Pick = (model: string) => { readonly row: CompiledRow; readonly segment: string | undefined }

const always =
  (row: CompiledRow, segment: (model: string) => string | undefined): Pick =>
  (model) => ({ row, segment: segment(model) })

const pickRow = (settings: ProviderSettings): Pick => {
  const compile = (row: Table.Row, names: Readonly<Record<string, string>> = {}) => compileRow(settings, row, names)
  switch (settings.kind) {
    case "openai":
      return always(compile(Table.openai), modelSegment)
    case "anthropic":
      return always(compile(Table.anthropic), modelSegment)
    case "gemini":
      return always(compile(Table.gemini), geminiResource)
    case "vertex": {
      const location = settings.region ?? "global"
      const vertexHost = Table.vertexHosts.get(location) ?? `${location}-aiplatform.googleapis.com`
      const names = { project: settings.project, location, vertexHost }
      const claude = compile(Table.vertexClaude, names)
      const gemini = compile(Table.vertexGemini, names)
      const other = compile(Table.vertexOther, names)
      return (model) => {
        const claudeId = vertexClaudeId(model)
        if (claudeId !== undefined) return { row: claude, segment: modelSegment(claudeId) }
        const geminiId = vertexGemini(model)
        return { row: geminiId === undefined ? other : gemini, segment: modelSegment(geminiId ?? model) }
      }
    }
    case "bedrock": {
      const claude = compile(Table.bedrockClaude, { region: settings.region })
      const other = compile(Table.bedrock, { region: settings.region })
      return (model) => ({ row: isBedrockClaude(model) ? claude : other, segment: modelSegment(model) })
    }
    case "azure": {
      const version = settings.apiVersion ?? "v1"
      const names = {
        resource: settings.resourceName,
        project: settings.projectName ?? settings.resourceName,
        apiVersion: encodeURIComponent(version)
      }
      if (settings.resourceType === "openAI") {
        const row = version === "v1" ? Table.azureV1 : version === "preview" ? Table.azurePreview : Table.azureDated
        return always(compile(row, names), modelSegment)
      }
      const claude = compile(Table.azureFoundryClaude, names)
      const other = compile(Table.azureFoundry, names)
      return (model) => ({ row: model.startsWith("claude") ? claude : other, segment: modelSegment(model) })
    }
    case "copilot":
      return always(compile(Table.copilot), modelSegment)
    case "custom":
      return always(compile(customRow(settings)), geminiResource)
  }
}

/** A custom provider's row: declared paths as they are, the others at their usual place under the prefix. */
const customRow = (settings: CustomSettings): Table.Row => {
  const prefix = settings.pathPrefix?.replace(/\/+$/, "")
  const endpoints: { [F in WireFormat]?: Table.Endpoint } = {}
  for (const { type, path } of settings.formats) {
    const [base, usual] = Table.customEndpoints[type]
    const under = (path: string) => (prefix ?? base) + path
    if (path !== undefined) endpoints[type] = path
    else if (typeof usual === "string") endpoints[type] = under(usual)
    else endpoints[type] = { path: under(usual.path), streaming: under(usual.streaming ?? usual.path) }
  }
  return { ...Table.custom, host: settings.host, endpoints }
}

/** Compiles settings; what they decide (hosts, paths but for the model, headers, credential) is decided here. */
export const compileProvider = (settings: ProviderSettings): Provider => {
  const pick = pickRow(settings)
  const name = settings.kind === "custom" ? (settings.name ?? "custom") : telemetryNames[settings.kind]
  return {
    kind: settings.kind,
    name,
    formats: (model, tags) => {
      const { row } = pick(model)
      return settings.kind === "copilot"
        ? copilotFormats(model, tags).filter((format) => row.formats.includes(format))
        : row.bodies(model)
    },
    target: (call) => {
      const { row, segment } = pick(call.model)
      if (call.format === "passthrough") return row.passthrough(call)
      return (
        row.target(call, call.format, segment) ??
        new NoSuchEndpoint({ provider: name, format: call.format, model: call.model })
      )
    },
    cacheOutsideInput: (model) => settings.kind === "copilot" && model.toLowerCase().startsWith("claude-")
  }
}

/** The settings that a preset's name stands for. Its address is not used when configuration gives another host. */
export const presetSettings = (name: PresetName, override: AddressOverride = {}): CustomSettings => {
  const { address, formats } = presets[name]
  return override.host === undefined
    ? { kind: "custom", name, formats, ...address, ...override, host: address.host }
    : { kind: "custom", name, formats, ...override, host: override.host }
}
