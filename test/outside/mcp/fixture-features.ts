/** What the conformance suite expects of a server under test, written with the official SDK's low-level server. */
import { Server } from "@modelcontextprotocol/sdk/server/index.js"
import {
  CallToolRequestSchema,
  CompleteRequestSchema,
  CreateMessageResultSchema,
  ElicitResultSchema,
  GetPromptRequestSchema,
  ListPromptsRequestSchema,
  ListResourcesRequestSchema,
  ListResourceTemplatesRequestSchema,
  ListToolsRequestSchema,
  McpError,
  ReadResourceRequestSchema,
  SetLevelRequestSchema,
  SubscribeRequestSchema,
  UnsubscribeRequestSchema
} from "@modelcontextprotocol/sdk/types.js"

const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="
const silence = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQAAAAA="

const sleep = (millis: number) => new Promise<void>((resolve) => setTimeout(resolve, millis))
const text = (text: string) => ({ content: [{ type: "text" as const, text }] })

const noArguments = { type: "object" as const, properties: {} }
const withString = (name: string) => ({
  type: "object" as const,
  properties: { [name]: { type: "string" } },
  required: [name]
})

const tools = [
  ["test_simple_text", "Answers with text", noArguments],
  ["test_image_content", "Answers with an image", noArguments],
  ["test_audio_content", "Answers with audio", noArguments],
  ["test_embedded_resource", "Answers with a resource", noArguments],
  ["test_multiple_content_types", "Answers with several kinds of content", noArguments],
  ["test_tool_with_logging", "Logs while it runs", noArguments],
  ["test_tool_with_progress", "Reports progress while it runs", noArguments],
  ["test_error_handling", "Always fails", noArguments],
  ["test_sampling", "Asks the client's model", withString("prompt")],
  ["test_elicitation", "Asks the client's user", withString("message")],
  ["test_elicitation_sep1034_defaults", "Asks with defaults", noArguments],
  ["test_elicitation_sep1330_enums", "Asks with enumerations", noArguments],
  ["test_reconnection", "Closes the stream while it runs", noArguments],
  [
    "json_schema_2020_12_tool",
    "Has a schema of the 2020-12 draft",
    {
      $schema: "https://json-schema.org/draft/2020-12/schema",
      type: "object" as const,
      $defs: { address: { type: "object", properties: { street: { type: "string" }, city: { type: "string" } } } },
      properties: { name: { type: "string" }, address: { $ref: "#/$defs/address" } },
      additionalProperties: false
    }
  ]
] as const

const resources = [
  { uri: "test://static-text", name: "Static text", description: "A text", mimeType: "text/plain" },
  { uri: "test://static-binary", name: "Static image", description: "An image", mimeType: "image/png" },
  { uri: "test://watched-resource", name: "Watched", description: "Changes now and then", mimeType: "text/plain" }
]

const prompts = [
  { name: "test_simple_prompt", description: "A prompt" },
  {
    name: "test_prompt_with_arguments",
    description: "A prompt with arguments",
    arguments: [
      { name: "arg1", description: "The first", required: true },
      { name: "arg2", description: "The second", required: true }
    ]
  },
  {
    name: "test_prompt_with_embedded_resource",
    description: "A prompt with a resource",
    arguments: [{ name: "resourceUri", description: "Which one", required: true }]
  },
  { name: "test_prompt_with_image", description: "A prompt with an image" }
]

const userSays = (content: object) => ({ role: "user" as const, content: content as { type: "text"; text: string } })

const defaults = {
  type: "object" as const,
  properties: {
    name: { type: "string", default: "John Doe" },
    age: { type: "integer", default: 30 },
    score: { type: "number", default: 95.5 },
    status: { type: "string", enum: ["active", "inactive", "pending"], default: "active" },
    verified: { type: "boolean", default: true }
  }
}

const titled = (word: string) =>
  ["First", "Second", "Third"].map((n, i) => ({ const: `value${i + 1}`, title: `${n} ${word}` }))

const enums = {
  type: "object" as const,
  properties: {
    untitledSingle: { type: "string", enum: ["option1", "option2", "option3"] },
    titledSingle: { type: "string", oneOf: titled("Option") },
    legacyEnum: {
      type: "string",
      enum: ["opt1", "opt2", "opt3"],
      enumNames: ["Option One", "Option Two", "Option Three"]
    },
    untitledMulti: { type: "array", items: { type: "string", enum: ["option1", "option2", "option3"] } },
    titledMulti: { type: "array", items: { anyOf: titled("Choice") } }
  }
}

export const makeFixture = (): Server => {
  const server = new Server(
    { name: "conformance-fixture", version: "1.0.0" },
    {
      capabilities: {
        tools: { listChanged: true },
        resources: { subscribe: true, listChanged: true },
        prompts: { listChanged: true },
        logging: {},
        completions: {}
      }
    }
  )
  server.setRequestHandler(SetLevelRequestSchema, () => ({}))
  server.setRequestHandler(CompleteRequestSchema, () => ({
    completion: { values: ["paris", "park"], total: 2, hasMore: false }
  }))
  server.setRequestHandler(ListToolsRequestSchema, () => ({
    tools: tools.map(([name, description, inputSchema]) => ({ name, description, inputSchema }))
  }))
  server.setRequestHandler(CallToolRequestSchema, async ({ params }, extra) => {
    const argument = (name: string) => String(params.arguments?.[name] ?? "")
    switch (params.name) {
      case "test_simple_text":
        return text("This is a simple text response for testing.")
      case "test_image_content":
        return { content: [{ type: "image", data: pixel, mimeType: "image/png" }] }
      case "test_audio_content":
        return { content: [{ type: "audio", data: silence, mimeType: "audio/wav" }] }
      case "test_embedded_resource":
        return {
          content: [
            {
              type: "resource",
              resource: { uri: "test://embedded", mimeType: "text/plain", text: "An embedded resource." }
            }
          ]
        }
      case "test_multiple_content_types":
        return {
          content: [
            { type: "text", text: "Several kinds of content:" },
            { type: "image", data: pixel, mimeType: "image/png" },
            { type: "resource", resource: { uri: "test://mixed", mimeType: "application/json", text: '{"a":1}' } }
          ]
        }
      case "test_tool_with_logging":
        for (const data of ["Tool execution started", "Tool processing data", "Tool execution completed"]) {
          await extra.sendNotification({ method: "notifications/message", params: { level: "info", data } })
          await sleep(50)
        }
        return text("Logged three messages")
      case "test_tool_with_progress": {
        const progressToken = params._meta?.progressToken
        for (const progress of [0, 50, 100]) {
          if (progressToken !== undefined)
            await extra.sendNotification({
              method: "notifications/progress",
              params: { progressToken, progress, total: 100, message: `Completed step ${progress} of 100` }
            })
          await sleep(50)
        }
        return text(String(progressToken))
      }
      case "test_error_handling":
        return { ...text("This tool intentionally returns an error for testing"), isError: true }
      case "test_sampling": {
        const messages = [{ role: "user" as const, content: { type: "text" as const, text: argument("prompt") } }]
        const answer = await extra.sendRequest(
          { method: "sampling/createMessage", params: { messages, maxTokens: 100 } },
          CreateMessageResultSchema
        )
        return text(`LLM response: ${JSON.stringify(answer.content)}`)
      }
      case "test_elicitation":
      case "test_elicitation_sep1034_defaults":
      case "test_elicitation_sep1330_enums": {
        const requestedSchema =
          params.name === "test_elicitation"
            ? {
                type: "object",
                properties: { username: { type: "string" }, email: { type: "string" } },
                required: ["username", "email"]
              }
            : params.name === "test_elicitation_sep1034_defaults"
              ? defaults
              : enums
        const answer = await extra.sendRequest(
          {
            method: "elicitation/create",
            params: {
              message: argument("message") || "Please answer",
              requestedSchema: requestedSchema as typeof defaults & { properties: never }
            }
          },
          ElicitResultSchema
        )
        return text(`Elicitation completed: action=${answer.action}, content=${JSON.stringify(answer.content)}`)
      }
      case "test_reconnection":
        extra.closeSSEStream?.()
        await sleep(100)
        return text("Reconnection test completed successfully")
      case "json_schema_2020_12_tool":
        return text("ok")
      default:
        throw new McpError(-32602, `Unknown tool: ${params.name}`)
    }
  })
  server.setRequestHandler(ListResourcesRequestSchema, () => ({ resources }))
  server.setRequestHandler(ListResourceTemplatesRequestSchema, () => ({
    resourceTemplates: [
      { uriTemplate: "test://template/{id}/data", name: "Template", description: "By id", mimeType: "application/json" }
    ]
  }))
  server.setRequestHandler(ReadResourceRequestSchema, ({ params: { uri } }) => {
    const id = /^test:\/\/template\/([^/]+)\/data$/.exec(uri)?.[1]
    if (id !== undefined) return { contents: [{ uri, mimeType: "application/json", text: JSON.stringify({ id }) }] }
    if (uri === "test://static-binary") return { contents: [{ uri, mimeType: "image/png", blob: pixel }] }
    if (resources.some((resource) => resource.uri === uri))
      return { contents: [{ uri, mimeType: "text/plain", text: "This is the content of the static text resource." }] }
    throw new McpError(-32002, "Resource not found")
  })
  server.setRequestHandler(SubscribeRequestSchema, () => ({}))
  server.setRequestHandler(UnsubscribeRequestSchema, () => ({}))
  server.setRequestHandler(ListPromptsRequestSchema, () => ({ prompts }))
  server.setRequestHandler(GetPromptRequestSchema, ({ params }) => {
    const argument = (name: string) => params.arguments?.[name] ?? ""
    switch (params.name) {
      case "test_simple_prompt":
        return { messages: [userSays({ type: "text", text: "This is a simple prompt for testing." })] }
      case "test_prompt_with_arguments":
        return {
          messages: [
            userSays({
              type: "text",
              text: `Prompt with arguments: arg1='${argument("arg1")}', arg2='${argument("arg2")}'`
            })
          ]
        }
      case "test_prompt_with_embedded_resource":
        return {
          messages: [
            userSays({
              type: "resource",
              resource: { uri: argument("resourceUri"), mimeType: "text/plain", text: "Embedded for testing." }
            }),
            userSays({ type: "text", text: "Please process the resource above." })
          ]
        }
      case "test_prompt_with_image":
        return {
          messages: [
            userSays({ type: "image", data: pixel, mimeType: "image/png" }),
            userSays({ type: "text", text: "Please look at the image above." })
          ]
        }
      default:
        throw new McpError(-32602, `Unknown prompt: ${params.name}`)
    }
  })
  return server
}
