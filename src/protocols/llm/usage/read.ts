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

/** What stands where the sources of a format look: the body first, then what is found in it, each once for all of its members. */
type Found = ReadonlyArray<unknown>
type CountSource = (found: Found) => number | undefined
type TextSource = (found: Found) => string | undefined

const step = (value: unknown, key: string): unknown => (Array.isArray(value) ? value[Number(key)] : member(value, key))

/** The places where a format keeps its counts, numbered as they are asked for. */
class Places {
  readonly #steps: Array<{ readonly from: number; readonly key: string }> = []

  /** The number of the place at the end of a path. */
  at(path: ReadonlyArray<string>): number {
    let from = 0
    for (const key of path) {
      const known = this.#steps.findIndex((each) => each.from === from && each.key === key)
      // The body is the place 0.
      from = known === -1 ? this.#steps.push({ from, key }) : known + 1
    }
    return from
  }

  find(body: unknown): Found {
    const steps = this.#steps
    const found = new Array<unknown>(steps.length + 1)
    found[0] = body
    for (let i = 0; i < steps.length; i++) {
      const { from, key } = steps[i]!
      const value = found[from]
      found[i + 1] = value === undefined ? undefined : step(value, key)
    }
    return found
  }
}

/** A count is a whole number of tokens; anything else a provider may put there is no count. */
const count = (value: unknown): number | undefined =>
  typeof value === "number" && Number.isSafeInteger(value) && value >= 0 ? value : undefined

const compileSource = (source: string, places: Places): CountSource => {
  const modality = /^(.*)\[(\w+)\]$/.exec(source)
  if (modality !== null) {
    const [list, name] = [places.at(modality[1]!.split(".")), modality[2]!]
    return (found) =>
      count(
        member(
          elements(found[list]).find((entry) => member(entry, "modality") === name),
          "tokenCount"
        )
      )
  }
  const parts = source.split("+").map((path) => places.at(path.split(".")))
  const [only] = parts
  if (parts.length === 1) return (found) => count(found[only!])
  return (found) => {
    let sum: number | undefined
    for (const place of parts) {
      const part = count(found[place])
      if (part !== undefined) sum = (sum ?? 0) + part
    }
    return sum
  }
}

const never = () => undefined

const firstCount = (sources: ReadonlyArray<string> = [], places: Places): CountSource => {
  const compiled = sources.map((source) => compileSource(source, places))
  if (compiled.length <= 1) return compiled[0] ?? never
  return (found) => {
    for (const source of compiled) {
      const value = source(found)
      if (value !== undefined) return value
    }
    return undefined
  }
}

const firstText = (sources: ReadonlyArray<string>, places: Places): TextSource => {
  const compiled = sources.map((source) => places.at(source.split(".")))
  return (found) => {
    for (const place of compiled) {
      const value = found[place]
      if (typeof value === "string" && value !== "") return value
    }
    return undefined
  }
}

type Reader = (body: unknown) => ResponseFacts

const reader = (format: UsageFormat, sources: Sources): Reader => {
  const places = new Places()
  const counts = usageCounts.map((name) => ({ name, source: firstCount(sources[name], places) }))
  const [model, tier, finish] = [sources.model, sources.serviceTier, sources.finish].map((paths) =>
    firstText(paths, places)
  )
  return (body) => {
    if (!isObject(body)) return { usage: undefined, model: undefined, finish: undefined }
    const found = places.find(body)
    const counted: Partial<Record<UsageCount, number>> = {}
    let any = false
    for (let i = 0; i < counts.length; i++) {
      const { name, source } = counts[i]!
      const value = source(found)
      if (value === undefined) continue
      counted[name] = value
      any = true
    }
    // Gemini's OpenAI-compatible answers can report thinking in the total alone.
    if (format === "completions" && counted.output === 0 && (counted.total ?? 0) > (counted.input ?? 0))
      counted.output = counted.total! - (counted.input ?? 0)
    return {
      usage: any ? usageFrom(counted, convention(format, body), tier!(found)) : undefined,
      model: model!(found),
      finish: finish!(found)
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
