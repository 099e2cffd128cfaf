/**
 * An HTTP interface as an MCP target: answers what an MCP server is asked, and makes one HTTP request of each call of a
 * tool. It has nothing to say by itself, and no session.
 */

import { valueIn } from "../../json/text.ts"
import type { McpOutgoing, McpTransport, McpTransportEvents, TargetFailure } from "../../services/mcp-transport.ts"
import type { McpTarget } from "./config.ts"
import { decodeMessage, errorMessage, idText, isNotJsonRpc, type RpcRequest, resultMessage } from "./envelope.ts"
import { code } from "./errors.ts"
import type { McpHttpServer, McpPlainAnswer } from "./http/contract.ts"
import { type OpenApiInterface, requestOf, resultOf } from "./openapi.ts"
import { isObject, type Json } from "./openapi-json.ts"
import { isKnown, isModern, latestLegacyVersion } from "./versions.ts"

const utf8 = new TextDecoder()

/** What the client sent for us and for its connection; the interface gets the rest, such as credentials. */
const isForwarded = (name: string) =>
  !name.startsWith("mcp-") && name !== "accept" && name !== "content-type" && name !== "last-event-id"

const undescribed: TargetFailure = {
  _tag: "TargetUnreachable",
  status: 503,
  message: "the OpenAPI document of the upstream is not there"
}

/** Characters of a failure's body that the client and the log are told. */
const mostTold = 2_000

/** The version that a handshake asks for, if there is one of that name and it has a handshake. */
const agreed = (asked: Json | undefined): string =>
  typeof asked === "string" && isKnown(asked) && !isModern(asked) ? asked : latestLegacyVersion

/** What a server that only has tools answers. */
const answers: Readonly<Record<string, (api: OpenApiInterface, params: unknown) => Json>> = {
  initialize: (api, params) => ({
    protocolVersion: agreed(isObject(params) ? params["protocolVersion"] : undefined),
    capabilities: { tools: {} },
    serverInfo: { name: api.title, version: api.version }
  }),
  ping: () => ({}),
  "logging/setLevel": () => ({}),
  "tools/list": (api) => ({ tools: api.operations.map(({ tool }) => ({ ...tool })) }),
  "prompts/list": () => ({ prompts: [] }),
  "resources/list": () => ({ resources: [] }),
  "resources/templates/list": () => ({ resourceTemplates: [] })
}

export const openApiTransport = (
  server: Pick<McpHttpServer, "ask">,
  { api, load }: Pick<Extract<McpTarget, { readonly kind: "openapi" }>, "api" | "load">,
  events: McpTransportEvents
): McpTransport => {
  const open = new Map<number, () => void>()
  let closed = false

  const say = (stream: number, message: string) => {
    events.onMessage(message, stream, undefined)
    events.onEnd(stream, undefined)
  }

  const call = (
    { operations }: OpenApiInterface,
    stream: number,
    id: string,
    params: unknown,
    headers: ReadonlyArray<string>
  ) => {
    const { name, arguments: args } = isObject(params) ? params : {}
    const operation = operations.find(({ tool }) => tool.name === name)
    if (operation === undefined) return say(stream, errorMessage(id, code.invalidParams, `Unknown tool: ${name}`))
    const made = requestOf(operation, args)
    if (made._tag === "Failure") return say(stream, errorMessage(id, code.invalidParams, made.failure))
    const request = made.success
    const sent: Array<string> = []
    for (let i = 0; i + 1 < headers.length; i += 2)
      if (isForwarded(headers[i]!)) sent.push(headers[i]!, headers[i + 1]!)
    const taken = new Set(sent.filter((_, i) => i % 2 === 0))
    // A parameter never replaces what is there already.
    for (let i = 0; i + 1 < request.headers.length; i += 2)
      if (!taken.has(request.headers[i]!)) sent.push(request.headers[i]!, request.headers[i + 1]!)
    const told = (answer: McpPlainAnswer | TargetFailure) => {
      if (!open.delete(stream) || closed) return
      if ("_tag" in answer) return events.onEnd(stream, answer)
      const text = utf8.decode(answer.body)
      if (answer.status < 500) return say(stream, resultMessage(id, JSON.stringify(resultOf(answer.status, text))))
      const shown = text.length > mostTold ? `${text.slice(0, mostTold)}…` : text
      const message = `Upstream API call for tool '${operation.tool.name}' failed with status ${answer.status}: ${shown}`
      events.onEnd(stream, { _tag: "TargetBroken", status: 500, message })
    }
    // The answer may come before `ask` returns, and ends the stream: so it is open before.
    open.set(stream, () => {})
    const stop = server.ask({ ...request, headers: sent }, told)
    if (open.has(stream)) open.set(stream, stop)
  }

  const answered = (described: OpenApiInterface, request: RpcRequest, { stream, headers }: McpOutgoing) => {
    const id = idText(request)
    const params = request.params && valueIn(request.text, request.params)
    if (request.method === "tools/call") return call(described, stream, id, params, headers)
    const answer = Object.hasOwn(answers, request.method) ? answers[request.method] : undefined
    say(
      stream,
      answer === undefined
        ? errorMessage(id, code.methodNotFound, `method not found: ${request.method}`)
        : resultMessage(id, JSON.stringify(answer(described, params)))
    )
  }

  return {
    shared: false,
    sessionId: () => undefined,
    send: (outgoing) => {
      if (closed) return
      const { stream, message } = outgoing
      const decoded = decodeMessage(message)
      if (isNotJsonRpc(decoded) || decoded.kind !== "request") return events.onEnd(stream, undefined)
      const described = api()
      if (described !== undefined) return answered(described, decoded, outgoing)
      open.set(stream, () => {})
      load(outgoing.context, () => {
        // Nobody waits for it any more.
        if (!open.delete(stream) || closed) return
        const now = api()
        if (now === undefined) events.onEnd(stream, undescribed)
        else answered(now, decoded, outgoing)
      })
    },
    listen: (stream) => events.onOpen(stream),
    pause: () => {},
    resume: () => {},
    release: () => {},
    abandon: (stream) => {
      open.get(stream)?.()
      open.delete(stream)
    },
    close: () => {
      closed = true
      for (const stop of open.values()) stop()
      open.clear()
    }
  }
}
