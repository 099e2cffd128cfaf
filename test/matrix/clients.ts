/** The official clients: each writes a question in its API's words, and tells what it has read in nobody's. */
import { Readable } from "node:stream"
import type { ReadableStream } from "node:stream/web"
import Anthropic from "@anthropic-ai/sdk"
import {
  BedrockRuntimeClient,
  type ContentBlock,
  ConverseCommand,
  type ConverseCommandInput,
  ConverseStreamCommand,
  type Message
} from "@aws-sdk/client-bedrock-runtime"
import { ApiError, type Content, type GenerateContentParameters, GoogleGenAI, type Part } from "@google/genai"
import type { HttpHandlerOptions } from "@smithy/types"
import OpenAI from "openai"
import type { Call, Question, Said, Turn } from "./scenarios.ts"

export interface Answer {
  readonly said: Said
  readonly used: { readonly input: number; readonly output: number }
  /** The library's own object. */
  readonly typed: unknown
}

/** What a library throws. */
export interface Failure {
  readonly kind: string
  readonly status: number | undefined
  readonly message: string
}

export interface Client {
  readonly library: string
  /** The path that the library takes for granted. */
  readonly base: string
  readonly ask: (address: string, model: string, question: Question, streamed: boolean) => Promise<Answer>
}

const schema = { type: "object" as const, properties: { city: { type: "string" } }, required: ["city"] }
const describe = (name: string) => `Tells the ${name} of a city.`

const isCalls = (turn: Turn): turn is { readonly calls: ReadonlyArray<Call> } => "calls" in turn
const isResults = (turn: Turn): turn is Extract<Turn, { results: unknown }> => "results" in turn

/** What a model calls a tool with, which is an object or a mistake. */
const inputOf = (input: unknown): Call["input"] => input as Call["input"]

/** The reasoning of an answer, where there is any. */
const thought = (reasoning: string): Pick<Said, "reasoning"> => (reasoning === "" ? {} : { reasoning })

const openai = (address: string) => new OpenAI({ baseURL: address, apiKey: "sk-client", maxRetries: 0 })

const completions: Client = {
  library: "openai (chat)",
  base: "/v1",
  ask: async (address, model, { system, turns, tools }, streamed) => {
    const messages = turns.flatMap((turn): Array<OpenAI.ChatCompletionMessageParam> => {
      if (isCalls(turn))
        return [
          {
            role: "assistant",
            content: null,
            tool_calls: turn.calls.map(({ id, name, input }) => ({
              id,
              type: "function",
              function: { name, arguments: JSON.stringify(input) }
            }))
          }
        ]
      if (isResults(turn))
        return turn.results.map(({ call, text }) => ({ role: "tool", tool_call_id: call.id, content: text }))
      if (turn.image === undefined) return [{ role: "user", content: turn.user }]
      const url = `data:image/png;base64,${turn.image}`
      return [
        {
          role: "user",
          content: [
            { type: "text", text: turn.user },
            { type: "image_url", image_url: { url } }
          ]
        }
      ]
    })
    const asked = {
      model,
      messages: system === undefined ? messages : [{ role: "system" as const, content: system }, ...messages],
      ...(tools && {
        tools: tools.map((name) => ({
          type: "function" as const,
          function: { name, description: describe(name), parameters: schema }
        }))
      })
    }
    const { chat } = openai(address)
    // The library knows no such member, and keeps the last piece of it alone.
    let reasoning = ""
    const told = (message: object | undefined) => {
      reasoning += (message as { readonly reasoning_content?: string } | undefined)?.reasoning_content ?? ""
    }
    const stream = () =>
      chat.completions
        .stream({ ...asked, stream_options: { include_usage: true } })
        .on("chunk", ({ choices }) => told(choices[0]?.delta))
    const typed = streamed ? await stream().finalChatCompletion() : await chat.completions.create(asked)
    const choice = typed.choices[0]
    if (!streamed) told(choice?.message)
    const calls = (choice?.message.tool_calls ?? []).flatMap((call) =>
      call.type === "function" ? [{ name: call.function.name, input: JSON.parse(call.function.arguments) }] : []
    )
    const ending = { stop: "end", tool_calls: "tools", length: "length" } as const
    return {
      said: {
        ...thought(reasoning),
        text: choice?.message.content ?? "",
        calls,
        ending: ending[choice?.finish_reason as keyof typeof ending]
      },
      used: { input: typed.usage?.prompt_tokens ?? 0, output: typed.usage?.completion_tokens ?? 0 },
      typed
    }
  }
}

const responses: Client = {
  library: "openai (responses)",
  base: "/v1",
  ask: async (address, model, { system, turns, tools }, streamed) => {
    const input = turns.flatMap((turn): Array<OpenAI.Responses.ResponseInputItem> => {
      if (isCalls(turn))
        return turn.calls.map(({ id, name, input }) => ({
          type: "function_call",
          call_id: id,
          name,
          arguments: JSON.stringify(input)
        }))
      if (isResults(turn))
        return turn.results.map(({ call, text }) => ({
          type: "function_call_output",
          call_id: call.id,
          output: text
        }))
      if (turn.image === undefined) return [{ role: "user", content: turn.user }]
      const image_url = `data:image/png;base64,${turn.image}`
      return [
        {
          role: "user",
          content: [
            { type: "input_text", text: turn.user },
            { type: "input_image", image_url, detail: "auto" }
          ]
        }
      ]
    })
    const asked = {
      model,
      input,
      ...(system !== undefined && { instructions: system }),
      ...(tools && {
        tools: tools.map((name) => ({
          type: "function" as const,
          name,
          description: describe(name),
          parameters: schema,
          strict: false
        }))
      })
    }
    const api = openai(address).responses
    const typed = streamed ? await api.stream(asked).finalResponse() : await api.create(asked)
    const calls = typed.output.flatMap((item) =>
      item.type === "function_call" ? [{ name: item.name, input: JSON.parse(item.arguments) }] : []
    )
    return {
      said: {
        ...thought(
          typed.output
            .flatMap((item) => (item.type === "reasoning" ? item.summary : []))
            .map((summary) => summary.text)
            .join("")
        ),
        text: typed.output_text,
        calls,
        ending: typed.status === "incomplete" ? "length" : calls.length > 0 ? "tools" : "end"
      },
      used: { input: typed.usage?.input_tokens ?? 0, output: typed.usage?.output_tokens ?? 0 },
      typed
    }
  }
}

const messages: Client = {
  library: "@anthropic-ai/sdk",
  base: "",
  ask: async (address, model, { system, turns, tools }, streamed) => {
    const list = turns.map((turn): Anthropic.MessageParam => {
      if (isCalls(turn))
        return { role: "assistant", content: turn.calls.map((call) => ({ type: "tool_use", ...call })) }
      if (isResults(turn))
        return {
          role: "user",
          content: turn.results.map(({ call, text }) => ({ type: "tool_result", tool_use_id: call.id, content: text }))
        }
      if (turn.image === undefined) return { role: "user", content: turn.user }
      return {
        role: "user",
        content: [
          { type: "text", text: turn.user },
          { type: "image", source: { type: "base64", media_type: "image/png", data: turn.image } }
        ]
      }
    })
    const asked: Anthropic.MessageCreateParamsNonStreaming = {
      model,
      max_tokens: 100,
      messages: list,
      ...(system !== undefined && { system }),
      ...(tools && { tools: tools.map((name) => ({ name, description: describe(name), input_schema: schema })) })
    }
    const api = new Anthropic({ baseURL: address, apiKey: "sk-client", maxRetries: 0 }).messages
    const typed = streamed ? await api.stream(asked).finalMessage() : await api.create(asked)
    const ending = { end_turn: "end", tool_use: "tools", max_tokens: "length" } as const
    return {
      said: {
        ...thought(typed.content.flatMap((block) => (block.type === "thinking" ? [block.thinking] : [])).join("")),
        text: typed.content.flatMap((block) => (block.type === "text" ? [block.text] : [])).join(""),
        calls: typed.content.flatMap((block) =>
          block.type === "tool_use" ? [{ name: block.name, input: inputOf(block.input) }] : []
        ),
        ending: ending[typed.stop_reason as keyof typeof ending]
      },
      used: { input: typed.usage.input_tokens, output: typed.usage.output_tokens },
      typed
    }
  }
}

const generateContent: Client = {
  library: "@google/genai",
  base: "",
  ask: async (address, model, { system, turns, tools }, streamed) => {
    const contents = turns.map((turn): Content => {
      if (isCalls(turn))
        return { role: "model", parts: turn.calls.map(({ name, input }) => ({ functionCall: { name, args: input } })) }
      if (isResults(turn))
        return {
          role: "user",
          parts: turn.results.map(({ call, text }) => ({
            functionResponse: { name: call.name, response: { content: text } }
          }))
        }
      const parts: Array<Part> = [{ text: turn.user }]
      if (turn.image !== undefined) parts.push({ inlineData: { mimeType: "image/png", data: turn.image } })
      return { role: "user", parts }
    })
    const asked: GenerateContentParameters = {
      model,
      contents,
      config: {
        ...(system !== undefined && { systemInstruction: system }),
        ...(tools && {
          tools: [
            {
              functionDeclarations: tools.map((name) => ({
                name,
                description: describe(name),
                parametersJsonSchema: schema
              }))
            }
          ]
        })
      }
    }
    const { models } = new GoogleGenAI({
      apiKey: "AIzaClient",
      httpOptions: { baseUrl: address, apiVersion: "v1beta" }
    })
    const chunks = streamed ? [] : [await models.generateContent(asked)]
    if (streamed) for await (const chunk of await models.generateContentStream(asked)) chunks.push(chunk)
    const parts = chunks.flatMap((chunk) => chunk.candidates?.[0]?.content?.parts ?? [])
    const calls = parts.flatMap(({ functionCall }) =>
      functionCall === undefined ? [] : [{ name: functionCall.name ?? "", input: inputOf(functionCall.args) }]
    )
    const reason = chunks.map((chunk) => chunk.candidates?.[0]?.finishReason).findLast((each) => each !== undefined)
    // A stream that ends without a reason has not ended.
    if (reason === undefined) throw new Error("terminated: no finish reason")
    const usage = chunks.map((chunk) => chunk.usageMetadata).findLast((each) => each !== undefined)
    return {
      said: {
        ...thought(parts.map((part) => (part.thought === true ? (part.text ?? "") : "")).join("")),
        text: parts.map((part) => (part.thought === true ? "" : (part.text ?? ""))).join(""),
        calls,
        ending: reason === "MAX_TOKENS" ? "length" : calls.length > 0 ? "tools" : "end"
      },
      used: { input: usage?.promptTokenCount ?? 0, output: usage?.candidatesTokenCount ?? 0 },
      typed: chunks
    }
  }
}

/** The library prefers HTTP/2, which neither side speaks without TLS. */
const overFetch = {
  handle: async (
    request: {
      readonly protocol: string
      readonly hostname: string
      readonly port?: number
      readonly path: string
      readonly method: string
      readonly headers: Record<string, string>
      readonly body?: unknown
    },
    _options?: HttpHandlerOptions
  ) => {
    const { protocol, hostname, port, path, method, headers, body } = request
    const response = await fetch(`${protocol}//${hostname}:${port}${path}`, {
      method,
      headers,
      body: body as string | Uint8Array<ArrayBuffer>
    })
    return {
      response: {
        statusCode: response.status,
        headers: Object.fromEntries(response.headers),
        body: Readable.fromWeb(response.body as ReadableStream)
      }
    }
  }
}

const converse: Client = {
  library: "@aws-sdk/client-bedrock-runtime",
  base: "",
  ask: async (address, model, { system, turns, tools }, streamed) => {
    const messages = turns.map((turn): Message => {
      if (isCalls(turn))
        return {
          role: "assistant",
          content: turn.calls.map(({ id, name, input }) => ({ toolUse: { toolUseId: id, name, input } }))
        }
      if (isResults(turn))
        return {
          role: "user",
          content: turn.results.map(({ call, text }) => ({
            toolResult: { toolUseId: call.id, content: [{ text }] }
          }))
        }
      const content: Array<ContentBlock> = [{ text: turn.user }]
      if (turn.image !== undefined)
        content.push({ image: { format: "png", source: { bytes: Buffer.from(turn.image, "base64") } } })
      return { role: "user", content }
    })
    const asked: ConverseCommandInput = {
      modelId: model,
      messages,
      ...(system !== undefined && { system: [{ text: system }] }),
      ...(tools && {
        toolConfig: {
          tools: tools.map((name) => ({
            toolSpec: { name, description: describe(name), inputSchema: { json: schema } }
          }))
        }
      })
    }
    const client = new BedrockRuntimeClient({
      region: "us-east-1",
      endpoint: address,
      token: { token: "sk-client" },
      authSchemePreference: ["httpBearerAuth"],
      maxAttempts: 1,
      requestHandler: overFetch
    })
    const ending = { end_turn: "end", tool_use: "tools", max_tokens: "length" } as const
    if (!streamed) {
      const { $metadata: _, ...typed } = await client.send(new ConverseCommand(asked))
      const content = typed.output?.message?.content ?? []
      return {
        said: {
          ...thought(content.map((block) => block.reasoningContent?.reasoningText?.text ?? "").join("")),
          text: content.map((block) => block.text ?? "").join(""),
          calls: content.flatMap(({ toolUse }) =>
            toolUse === undefined ? [] : [{ name: toolUse.name ?? "", input: inputOf(toolUse.input) }]
          ),
          ending: ending[typed.stopReason as keyof typeof ending]
        },
        used: { input: typed.usage?.inputTokens ?? 0, output: typed.usage?.outputTokens ?? 0 },
        typed
      }
    }
    const { stream } = await client.send(new ConverseStreamCommand(asked))
    const events = []
    for await (const event of stream ?? []) events.push(event)
    const calls: Array<{ name: string; json: string }> = []
    let text = ""
    let reasoning = ""
    for (const { contentBlockStart, contentBlockDelta } of events) {
      if (contentBlockStart?.start?.toolUse !== undefined)
        calls.push({ name: contentBlockStart.start.toolUse.name ?? "", json: "" })
      const delta = contentBlockDelta?.delta
      if (delta?.text !== undefined) text += delta.text
      reasoning += delta?.reasoningContent?.text ?? ""
      const call = calls.at(-1)
      if (delta?.toolUse !== undefined && call !== undefined) call.json += delta.toolUse.input ?? ""
    }
    const stop = events.find((event) => event.messageStop !== undefined)?.messageStop?.stopReason
    if (stop === undefined) throw new Error("terminated: no stop reason")
    const usage = events.find((event) => event.metadata !== undefined)?.metadata?.usage
    return {
      said: {
        ...thought(reasoning),
        text,
        calls: calls.map(({ name, json }) => ({ name, input: JSON.parse(json) })),
        ending: ending[stop as keyof typeof ending]
      },
      used: { input: usage?.inputTokens ?? 0, output: usage?.outputTokens ?? 0 },
      typed: events
    }
  }
}

export const clients = { completions, responses, messages, generateContent, converse } as const
export type ClientName = keyof typeof clients

/** What went wrong, as the library tells it. */
export const failureOf = (error: unknown): Failure => {
  if (!(error instanceof Error)) return { kind: typeof error, status: undefined, message: String(error) }
  const kind = error.constructor.name
  const { message } = error
  if (error instanceof OpenAI.APIError || error instanceof Anthropic.APIError || error instanceof ApiError)
    return { kind, status: error.status, message }
  const metadata =
    "$metadata" in error ? (error.$metadata as { readonly httpStatusCode?: number } | undefined) : undefined
  return { kind, status: metadata?.httpStatusCode, message }
}
