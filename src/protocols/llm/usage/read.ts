/** Reads usage, model and finish reason out of a response's JSON. Responses come from outside: whatever is not as expected is not there. */
import { elements, isObject, member } from "../formats/json.ts"
import { cacheOutsideInput, type Sources, type UsageFormat, usageMembers } from "./members.ts"
import { type Usage, type UsageCount, usageCounts, usageFrom } from "./usage.ts"

/** What a response states of itself. */
export interface ResponseFacts {
  readonly usage: Usage | undefined
  /** The model that answered, by the response's own words. */
  readonly model: string | undefined
  readonly finish: string | undefined
}

type Path = ReadonlyArray<string>
type CountSource = (body: unknown) => number | undefined

const follow = (body: unknown, path: Path): unknown => {
  let at = body
  for (const key of path) at = Array.isArray(at) ? at[Number(key)] : member(at, key)
  return at
}

/** A count is a whole number of tokens; anything else a provider may put there is no count. */
const count = (value: unknown): number | undefined =>
  typeof value === "number" && Number.isSafeInteger(value) && value >= 0 ? value : undefined

const compileSource = (source: string): CountSource => {
  const modality = /^(.*)\[(\w+)\]$/.exec(source)
  if (modality !== null) {
    const [path, name] = [modality[1]!.split("."), modality[2]!]
    return (body) =>
      count(
        member(
          elements(follow(body, path)).find((entry) => member(entry, "modality") === name),
          "tokenCount"
        )
      )
  }
  const paths = source.split("+").map((path) => path.split("."))
  const [first] = paths
  if (paths.length === 1) return (body) => count(follow(body, first!))
  return (body) => {
    let sum: number | undefined
    for (const path of paths) {
      const part = count(follow(body, path))
      if (part !== undefined) sum = (sum ?? 0) + part
    }
    return sum
  }
}

const firstCount = (sources: ReadonlyArray<string> = []): CountSource => {
  const compiled = sources.map(compileSource)
  return (body) => {
    for (const source of compiled) {
      const found = source(body)
      if (found !== undefined) return found
    }
    return undefined
  }
}

const firstText = (sources: ReadonlyArray<string>): ((body: unknown) => string | undefined) => {
  const paths = sources.map((source) => source.split("."))
  return (body) => {
    for (const path of paths) {
      const found = follow(body, path)
      if (typeof found === "string" && found !== "") return found
    }
    return undefined
  }
}

type Reader = (body: unknown) => ResponseFacts

const reader = (format: UsageFormat, sources: Sources): Reader => {
  const counts = usageCounts.map((name) => [name, firstCount(sources[name])] as const)
  const [model, tier, finish] = [sources.model, sources.serviceTier, sources.finish].map(firstText)
  return (body) => {
    if (!isObject(body)) return { usage: undefined, model: undefined, finish: undefined }
    const found: Partial<Record<UsageCount, number>> = {}
    let any = false
    for (const [name, source] of counts) {
      const value = source(body)
      if (value === undefined) continue
      found[name] = value
      any = true
    }
    // Gemini's OpenAI-compatible answers can report thinking in the total alone.
    if (format === "completions" && found.output === 0 && (found.total ?? 0) > (found.input ?? 0))
      found.output = found.total! - (found.input ?? 0)
    return {
      usage: any ? usageFrom(found, convention(format, body), tier!(body)) : undefined,
      model: model!(body),
      finish: finish!(body)
    }
  }
}

/** Unread formats are told apart by the spelling of their cache counts: Anthropic and Bedrock name them like nobody else. */
const convention = (format: UsageFormat, body: unknown): boolean => {
  if (format !== "detect") return !cacheOutsideInput.has(format)
  const usage =
    member(body, "usage") ?? member(member(body, "message"), "usage") ?? member(member(body, "metadata"), "usage")
  const anthropic = member(usage, "cache_read_input_tokens") ?? member(usage, "cache_creation_input_tokens")
  return !(
    member(usage, "inputTokens") !== undefined ||
    (anthropic !== undefined && member(usage, "prompt_tokens") === undefined)
  )
}

const readers = Object.fromEntries(
  Object.entries(usageMembers).map(([format, sources]) => [format, reader(format as UsageFormat, sources)])
) as Record<UsageFormat, Reader>

/** Usage, model and finish reason of a response of the given format; parts that it does not state are `undefined`. */
export const readResponse = (format: UsageFormat, body: unknown): ResponseFacts => readers[format](body)
