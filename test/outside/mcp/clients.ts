/** The official clients of both generations behind one face, so that the same tests run with each. */
import { Client as Client2, StreamableHTTPClientTransport as Transport2 } from "@modelcontextprotocol/client"
import { Client as Client1 } from "@modelcontextprotocol/sdk/client/index.js"
import { StreamableHTTPClientTransport as Transport1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js"
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
  LoggingMessageNotificationSchema,
  ResourceUpdatedNotificationSchema
} from "@modelcontextprotocol/sdk/types.js"

type Params = Readonly<Record<string, unknown>>

/** What the tests do with a client. */
export interface OfficialClient {
  readonly capabilities: () => Readonly<Record<string, unknown>> | undefined
  readonly serverName: () => string | undefined
  readonly sessionId: () => string | undefined
  readonly listTools: () => Promise<{ readonly tools: ReadonlyArray<{ readonly name: string }> }>
  readonly callTool: (name: string, args: Params, onProgress?: (progress: number) => void) => Promise<Params>
  readonly listResources: () => Promise<{ readonly resources: ReadonlyArray<{ readonly uri: string }> }>
  readonly readResource: (uri: string) => Promise<{ readonly contents: ReadonlyArray<{ readonly uri: string }> }>
  readonly subscribe: (uri: string) => Promise<unknown>
  readonly listPrompts: () => Promise<{ readonly prompts: ReadonlyArray<{ readonly name: string }> }>
  readonly getPrompt: (
    name: string,
    args: Readonly<Record<string, string>>
  ) => Promise<{ readonly messages: ReadonlyArray<unknown> }>
  readonly complete: (prompt: string, argument: string, value: string) => Promise<ReadonlyArray<string>>
  readonly ping: () => Promise<unknown>
  readonly setLogLevel: (level: "debug") => Promise<unknown>
  /** URIs of resources that were said to be changed. */
  readonly updates: ReadonlyArray<string>
  readonly logs: ReadonlyArray<unknown>
  /** Methods of requests that the server made. */
  readonly asked: ReadonlyArray<string>
  readonly terminate: () => Promise<void>
  readonly close: () => Promise<void>
}

/** `key` is shown to the gateway as a bearer token. */
export type Connect = (url: URL, key?: string) => Promise<OfficialClient>

const bearer = (key: string | undefined) =>
  key === undefined ? {} : { requestInit: { headers: { authorization: `Bearer ${key}` } } }

const info = { name: "test-client", version: "1.0.0" }
const capabilities = { roots: {}, sampling: {}, elicitation: {} }
const sampled = { role: "assistant", model: "m", content: { type: "text", text: "sampled" } } as const
const elicited = { action: "accept", content: { name: "Ada" } } as const
const roots = { roots: [{ uri: "file:///project", name: "project" }] }

/** @modelcontextprotocol/sdk 1.x */
export const connect1: Connect = async (url, key) => {
  const updates: Array<string> = []
  const logs: Array<unknown> = []
  const asked: Array<string> = []
  const client = new Client1(info, { capabilities })
  client.setRequestHandler(CreateMessageRequestSchema, ({ method }) => {
    asked.push(method)
    return sampled
  })
  client.setRequestHandler(ElicitRequestSchema, ({ method }) => {
    asked.push(method)
    return elicited
  })
  client.setRequestHandler(ListRootsRequestSchema, ({ method }) => {
    asked.push(method)
    return roots
  })
  client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => void updates.push(params.uri))
  client.setNotificationHandler(LoggingMessageNotificationSchema, ({ params }) => void logs.push(params.data))
  const transport = new Transport1(url, bearer(key))
  await client.connect(transport as never)
  return {
    capabilities: () => client.getServerCapabilities(),
    serverName: () => client.getServerVersion()?.name,
    sessionId: () => transport.sessionId,
    listTools: () => client.listTools(),
    callTool: (name, args, onProgress) =>
      client.callTool({ name, arguments: args }, undefined, {
        ...(onProgress === undefined ? {} : { onprogress: ({ progress }) => onProgress(progress) })
      }),
    listResources: () => client.listResources(),
    readResource: (uri) => client.readResource({ uri }),
    subscribe: (uri) => client.subscribeResource({ uri }),
    listPrompts: () => client.listPrompts(),
    getPrompt: (name, args) => client.getPrompt({ name, arguments: args }),
    complete: async (name, argument, value) =>
      (await client.complete({ ref: { type: "ref/prompt", name }, argument: { name: argument, value } })).completion
        .values,
    ping: () => client.ping(),
    setLogLevel: (level) => client.setLoggingLevel(level),
    updates,
    logs,
    asked,
    terminate: () => transport.terminateSession(),
    close: () => client.close()
  }
}

/** @modelcontextprotocol/client 2.x */
export const connect2: Connect = async (url, key) => {
  const updates: Array<string> = []
  const logs: Array<unknown> = []
  const asked: Array<string> = []
  const client = new Client2(info, { capabilities })
  client.setRequestHandler("sampling/createMessage", () => {
    asked.push("sampling/createMessage")
    return sampled
  })
  client.setRequestHandler("elicitation/create", () => {
    asked.push("elicitation/create")
    return elicited
  })
  client.setRequestHandler("roots/list", () => {
    asked.push("roots/list")
    return roots
  })
  client.setNotificationHandler("notifications/resources/updated", ({ params }) => void updates.push(params.uri))
  client.setNotificationHandler("notifications/message", ({ params }) => void logs.push(params.data))
  const transport = new Transport2(url, bearer(key))
  await client.connect(transport)
  return {
    capabilities: () => client.getServerCapabilities(),
    serverName: () => client.getServerVersion()?.name,
    sessionId: () => transport.sessionId,
    listTools: () => client.listTools(),
    callTool: (name, args, onProgress) =>
      client.callTool(
        { name, arguments: args },
        onProgress === undefined ? {} : { onprogress: ({ progress }) => onProgress(progress) }
      ),
    listResources: () => client.listResources(),
    readResource: (uri) => client.readResource({ uri }),
    subscribe: (uri) => client.subscribeResource({ uri }),
    listPrompts: () => client.listPrompts(),
    getPrompt: (name, args) => client.getPrompt({ name, arguments: args }),
    complete: async (name, argument, value) =>
      (await client.complete({ ref: { type: "ref/prompt", name }, argument: { name: argument, value } })).completion
        .values,
    ping: () => client.ping(),
    setLogLevel: (level) => client.setLoggingLevel(level),
    updates,
    logs,
    asked,
    terminate: () => transport.terminateSession(),
    close: () => client.close()
  }
}
