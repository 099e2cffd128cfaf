import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import type { ClientFormat, UpstreamFormat } from "../../formats/format.ts"
import { defined, isObject, type JsonObject, objectAt, objectsAt, stringAt } from "../../formats/json.ts"
import { RequestReader } from "../../formats/reader.ts"
import type { Call } from "../codec.ts"
import { clientCodecs } from "../codecs.ts"
import { type Conversation, isBlank, type Part, partsOf, textsOf } from "../conversation.ts"
import { valueFrom } from "../tool-input.ts"
import { translator } from "../translator.ts"
import { completionsRequests, messagesRequests, responsesRequests } from "./requests.ts"

const call: Call = { model: "m", now: 1_700_000_000_000, randomHex: (digits) => "0".repeat(digits) }

const read = (format: ClientFormat, body: JsonObject): Conversation => {
  const codec = clientCodecs[format]
  if (codec === undefined) throw new Error(`${format} is not a client format`)
  const reader = new RequestReader()
  const conversation = codec.decodeRequest(body, reader)
  if (reader.problem !== undefined) throw reader.problem
  return conversation
}

const translated = (client: ClientFormat, upstream: UpstreamFormat, body: JsonObject): JsonObject =>
  Result.getOrThrow(Result.getOrThrow(translator(client, upstream)).open(call).request(body))

/** Texts as one, without the blank lines that some formats drop and others join with. */
const joined = (texts: ReadonlyArray<string>): string =>
  texts
    .join("\n")
    .split("\n")
    .filter((line) => !isBlank(line))
    .join("\n")

/** One thing that was said, whoever's message it is in. */
const said = (role: string, part: Part): ReadonlyArray<unknown> => {
  switch (part.type) {
    case "text":
      return isBlank(part.text) ? [] : [{ role, text: part.text }]
    case "image":
      return [{ role, image: part.source }]
    case "toolCall":
      return [{ call: part.id, name: part.name, input: valueFrom(part.input) }]
    case "toolResult":
      return [{ result: part.callId, text: joined(textsOf(part.content)) }]
    default:
      return []
  }
}

interface Kept {
  /** Without images towards formats that take none. */
  readonly images: boolean
  /** Tool results of a turn go before the rest of it. */
  readonly resultsFirst: boolean
  /** The text of an assistant message goes before its calls. */
  readonly textFirst: boolean
}

/** What the tables keep of a conversation: everything that was said, in order, without regard to how it was cut into messages. */
const essence = (conversation: Conversation, kept: Kept) => {
  const system: Array<string> = []
  const turns: Array<unknown> = []
  const { instructions } = conversation
  if (instructions !== undefined) system.push(...textsOf(instructions))
  for (const { role, content } of conversation.turns) {
    if (role === "system" || role === "developer") system.push(...textsOf(content))
    else {
      const first = (part: Part) =>
        (kept.resultsFirst && part.type === "toolResult") ||
        (kept.textFirst && role === "assistant" && part.type === "text")
      const parts = partsOf(content).filter((part) => kept.images || part.type !== "image")
      for (const part of parts.filter(first)) turns.push(...said(role, part))
      for (const part of parts.filter((each) => !first(each))) turns.push(...said(role, part))
    }
  }
  const { tools, toolChoice, parallelToolCalls, maxTokens, temperature, topP, stop, user, format } = conversation
  return {
    system: joined(system),
    turns,
    tools: tools.map(({ name, description, parameters }) => ({ name, description, parameters })),
    toolChoice,
    parallel: toolChoice?.type === "none" ? undefined : parallelToolCalls,
    maxTokens,
    temperature,
    topP,
    stop,
    user,
    schema: format?.type === "schema" ? format.schema : undefined
  }
}

const everything: Kept = { images: true, resultsFirst: false, textFirst: false }

describe("a request read back from its translation keeps what the tables keep", () => {
  it.prop(
    "completions to messages",
    [completionsRequests],
    ([body]) => {
      const before = essence(read("completions", body), everything)
      const after = essence(read("messages", translated("completions", "messages", body)), everything)
      // The API wants a limit, and a choice wherever it is told of parallel calls.
      const implied = before.parallel !== undefined && before.toolChoice === undefined
      assert.deepStrictEqual(after, {
        ...before,
        maxTokens: before.maxTokens ?? 4096,
        toolChoice: implied && before.tools.length > 0 ? { type: "auto" } : before.toolChoice,
        parallel: implied && before.tools.length === 0 ? undefined : before.parallel
      })
    },
    { arbitrary: { runs: 150 } }
  )

  it.prop(
    "messages to completions",
    [messagesRequests],
    ([body]) => {
      const kept: Kept = { images: true, resultsFirst: true, textFirst: true }
      const before = essence(read("messages", body), kept)
      const after = essence(read("completions", translated("messages", "completions", body)), kept)
      assert.deepStrictEqual(after, before)
    },
    { arbitrary: { runs: 150 } }
  )

  it.prop(
    "messages to responses",
    [messagesRequests],
    ([body]) => {
      const before = essence(read("messages", body), everything)
      const after = essence(read("responses", translated("messages", "responses", body)), everything)
      assert.deepStrictEqual(after, { ...before, stop: [] })
    },
    { arbitrary: { runs: 150 } }
  )

  it.prop(
    "responses to completions",
    [responsesRequests],
    ([body]) => {
      const kept: Kept = { ...everything, images: false }
      const before = essence(read("responses", body), kept)
      const after = essence(read("completions", translated("responses", "completions", body)), kept)
      assert.deepStrictEqual(after, before)
    },
    { arbitrary: { runs: 150 } }
  )
})

/** Everything said in a Converse request, in the words of `said`; names are Bedrock's. */
const saidToConverse = (body: JsonObject): ReadonlyArray<unknown> =>
  objectsAt(body, "messages").flatMap((message) =>
    objectsAt(message, "content").flatMap((block): ReadonlyArray<unknown> => {
      const [use, result] = [objectAt(block, "toolUse"), objectAt(block, "toolResult")]
      if (use !== undefined) return [{ call: use["toolUseId"], input: use["input"] }]
      if (result !== undefined) {
        const texts = objectsAt(result, "content").flatMap((part) => stringAt(part, "text") ?? [])
        return [{ result: result["toolUseId"], text: joined(texts) }]
      }
      if (block["text"] !== undefined) return [{ role: message["role"], text: block["text"] }]
      return block["image"] === undefined ? [] : [{ role: message["role"], image: true }]
    })
  )

describe("a Converse request", () => {
  const cases = [
    ["completions", completionsRequests],
    ["messages", messagesRequests],
    ["responses", responsesRequests]
  ] as const
  for (const [client, requests] of cases)
    it.prop(
      `says everything that a ${client} request said, under names that Bedrock accepts`,
      [requests],
      ([body]) => {
        const request = translated(client, "converse", body)
        const before = essence(read(client, body), everything).turns.map((turn) => {
          if (!isObject(turn)) return turn
          const { name: _, image, ...rest } = turn
          return image === undefined ? rest : { ...rest, image: true }
        })
        assert.deepStrictEqual(saidToConverse(request), before)
        const tools = objectsAt(objectAt(request, "toolConfig") ?? {}, "tools")
        const specs = tools.map((tool) => objectAt(tool, "toolSpec")).filter((spec) => spec !== undefined)
        for (const spec of specs) assert.match(String(spec["name"]), /^[A-Za-z0-9_-]{1,64}$/)
        // Two tools of one name are the client's mistake; two names never become one.
        const names = new Set(read(client, body).tools.map((tool) => tool.name))
        if (names.size > 0) assert.strictEqual(new Set(specs.map((spec) => spec["name"])).size, names.size)
      },
      { arbitrary: { runs: 100 } }
    )

  for (const [client, requests] of cases)
    it.prop(
      `keeps system text, tools and settings of a ${client} request`,
      [requests],
      ([body]) => {
        const request = translated(client, "converse", body)
        const before = essence(read(client, body), everything)
        assert.strictEqual(
          joined(objectsAt(request, "system").flatMap((block) => stringAt(block, "text") ?? [])),
          before.system
        )
        const { maxTokens = 4096, temperature, topP, stop } = before
        assert.deepStrictEqual(
          request["inferenceConfig"],
          defined({ maxTokens, temperature, topP, stopSequences: stop.length > 0 ? stop : undefined })
        )
        const config = objectAt(request, "toolConfig") ?? {}
        const specs = objectsAt(config, "tools").map((tool) => objectAt(tool, "toolSpec") ?? {})
        if (before.tools.length > 0)
          assert.deepStrictEqual(
            specs.map(({ description, inputSchema }) => ({ description: description ?? undefined, inputSchema })),
            before.tools.map(({ description, parameters }) => ({ description, inputSchema: { json: parameters } }))
          )
        const { toolChoice } = before
        const choice = objectAt(config, "toolChoice")
        if (before.tools.length === 0 || toolChoice === undefined || toolChoice.type === "none")
          assert.isUndefined(choice)
        else if (toolChoice.type === "auto") assert.deepStrictEqual(choice, { auto: {} })
        else if (toolChoice.type === "required") assert.deepStrictEqual(choice, { any: {} })
        else if (toolChoice.type === "tool") {
          const at = before.tools.findIndex(({ name }) => name === toolChoice.name)
          if (at !== -1) assert.deepStrictEqual(choice, { tool: { name: specs[at]?.["name"] } })
        }
        const format = objectAt(objectAt(request, "outputConfig") ?? {}, "textFormat")
        const schema = stringAt(objectAt(objectAt(format ?? {}, "structure") ?? {}, "jsonSchema") ?? {}, "schema")
        assert.deepStrictEqual(schema === undefined ? undefined : JSON.parse(schema), before.schema)
      },
      { arbitrary: { runs: 100 } }
    )

  it.prop(
    "from an OpenAI client never has two neighbours of one role",
    [completionsRequests],
    ([body]) => {
      const roles = objectsAt(translated("completions", "converse", body), "messages").map(({ role }) => role)
      assert.isTrue(roles.every((role, index) => role !== roles[index + 1]))
    },
    { arbitrary: { runs: 60 } }
  )
})

/** Everything said in a Gemini request but the results, whose order is that of the calls; ids have no place there. */
const saidToGemini = (body: JsonObject): ReadonlyArray<unknown> =>
  objectsAt(body, "contents").flatMap(({ role, parts }) =>
    (parts as ReadonlyArray<JsonObject>).flatMap((part): ReadonlyArray<unknown> => {
      const call = objectAt(part, "functionCall")
      if (call !== undefined) return [{ call: call["name"], input: call["args"] }]
      const who = role === "model" ? "assistant" : role
      const text = stringAt(part, "text")
      if (text !== undefined) return isBlank(text) ? [] : [{ role: who, text }]
      return part["inlineData"] === undefined ? [] : [{ role: who, image: true }]
    })
  )

describe("a Gemini request", () => {
  it.prop(
    "says everything that was said, in order, and every result",
    [completionsRequests],
    ([body]) => {
      const request = translated("completions", "generateContent", body)
      const turns = essence(read("completions", body), everything).turns.filter(isObject)
      const spoken = turns.flatMap((turn): ReadonlyArray<unknown> => {
        if (turn["result"] !== undefined) return []
        if (turn["image"] !== undefined) return [{ role: turn["role"], image: true }]
        return turn["name"] === undefined ? [turn] : [{ call: turn["name"], input: turn["input"] }]
      })
      assert.deepStrictEqual(saidToGemini(request), spoken)
      const results = objectsAt(request, "contents").flatMap((content) =>
        objectsAt(content, "parts").flatMap((part) => {
          const response = objectAt(objectAt(part, "functionResponse") ?? {}, "response")
          return response === undefined ? [] : [joined([stringAt(response, "content") ?? ""])]
        })
      )
      const told = turns.flatMap((turn) => (turn["result"] === undefined ? [] : [String(turn["text"])]))
      assert.deepStrictEqual(results.toSorted(), told.toSorted())
    },
    { arbitrary: { runs: 100 } }
  )

  it.prop(
    "keeps system text, tools and settings",
    [completionsRequests],
    ([body]) => {
      const request = translated("completions", "generateContent", body)
      const { system, tools, toolChoice, maxTokens, temperature, topP, stop, schema } = essence(
        read("completions", body),
        everything
      )
      const parts = objectsAt(objectAt(request, "systemInstruction") ?? {}, "parts")
      assert.strictEqual(joined(parts.flatMap((part) => stringAt(part, "text") ?? [])), system)
      const [list] = objectsAt(request, "tools")
      assert.deepStrictEqual(
        objectsAt(list ?? {}, "functionDeclarations"),
        tools.map(({ name, description, parameters }) => defined({ name, description, parameters }))
      )
      const calling = objectAt(objectAt(request, "toolConfig") ?? {}, "functionCallingConfig")
      const modes = { none: "NONE", required: "ANY", auto: "AUTO", tool: "ANY", allowed: undefined }
      assert.strictEqual(calling?.["mode"], toolChoice && modes[toolChoice.type])
      assert.deepStrictEqual(
        calling?.["allowedFunctionNames"],
        toolChoice?.type === "tool" ? [toolChoice.name] : undefined
      )
      const { thinkingConfig: _, ...config } = objectAt(request, "generationConfig") ?? {}
      assert.deepStrictEqual(
        config,
        defined({
          temperature,
          topP,
          maxOutputTokens: maxTokens,
          stopSequences: stop.length > 0 ? stop : undefined,
          responseMimeType: schema === undefined ? undefined : "application/json",
          responseSchema: schema
        })
      )
    },
    { arbitrary: { runs: 100 } }
  )

  it.prop(
    "keeps function responses apart, and every call answered as often as the client answered it",
    [completionsRequests],
    ([body]) => {
      const contents = objectsAt(translated("completions", "generateContent", body), "contents")
      assert.isAtLeast(contents.length, 1)
      let answers = 0
      for (const content of contents) {
        const parts = objectsAt(content, "parts")
        assert.isAtLeast(parts.length, 1)
        const responses = parts.filter((part) => part["functionResponse"] !== undefined).length
        assert.isTrue(responses === 0 || responses === parts.length)
        answers += responses
      }
      assert.strictEqual(answers, objectsAt(body, "messages").filter(({ role }) => role === "tool").length)
    },
    { arbitrary: { runs: 100 } }
  )
})
