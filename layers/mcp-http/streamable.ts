/** Streamable HTTP, the client's side: a POST for each message, an event stream or a JSON body for its answer. */
import { contained } from "../../src/services/contained.ts"
import { containerOf } from "../../src/services/defects.ts"
import type { McpUpstreamRequest } from "../../src/services/mcp-http.ts"
import type { McpTransport, McpTransportEvents, TargetFailure } from "../../src/services/mcp-transport.ts"
import { eventSource } from "./event-source.ts"
import { type BodyReader, callUpstream, type ResponseHead, type Upstream, type UpstreamCall } from "./upstream.ts"

const broken = (message: string): TargetFailure => ({ _tag: "TargetBroken", status: 500, message })
const tooLarge = broken("upstream sent a message over the limit")

/** Sending these twice does no harm. */
const repeatable = new Set([
  "initialize",
  "server/discover",
  "ping",
  "logging/setLevel",
  "tools/list",
  "prompts/list",
  "prompts/get",
  "resources/list",
  "resources/templates/list",
  "resources/read",
  "resources/subscribe",
  "resources/unsubscribe",
  "completion/complete",
  "tasks/get"
])

/** An answered stream may stay open this long before it is dropped, at most twice as long. */
const graceMillis = 5_000

interface Open {
  readonly call: UpstreamCall
  released: boolean
}

/** `session` is the target's id of a session that was begun before. */
export const streamableTransport = (
  upstream: Upstream,
  path: string,
  session: string | undefined,
  events: McpTransportEvents
): McpTransport => {
  const { limits } = upstream
  const open = new Map<number, Open>()
  let sessionId = session
  let closed = false
  let released: Set<number> | undefined

  const withSession = (headers: ReadonlyArray<string>, ...own: ReadonlyArray<string>): Array<string> => {
    const all = [...headers, ...own]
    if (sessionId !== undefined) all.push("mcp-session-id", sessionId)
    return all
  }

  const end = (stream: number, failure: TargetFailure | undefined) => {
    const known = open.get(stream)
    open.delete(stream)
    if (known?.released !== true && !closed) events.onEnd(stream, failure)
  }

  const streamReader = (stream: number): BodyReader => {
    const source = eventSource(limits.messageChars, (type, data, mark) => {
      if (type !== undefined && type !== "message") return
      if (open.has(stream) && (data !== "" || mark !== undefined)) events.onMessage(data, stream, mark)
    })
    events.onOpen(stream)
    return {
      onData: (chunk) => {
        if (source.push(chunk)) return true
        end(stream, tooLarge)
        return false
      },
      onEnd: () => {
        source.end()
        end(stream, undefined)
      }
    }
  }

  const bodyReader = (stream: number): BodyReader => {
    const chunks: Array<Buffer> = []
    let bytes = 0
    return {
      onData: (chunk) => {
        bytes += chunk.length
        chunks.push(chunk)
        if (bytes <= limits.messageChars) return true
        end(stream, tooLarge)
        return false
      },
      onEnd: () => {
        const text = Buffer.concat(chunks).toString("utf8").trim()
        if (text !== "" && text !== "null") events.onMessage(text, stream, undefined)
        end(stream, undefined)
      }
    }
  }

  const readerFor = (stream: number, head: ResponseHead): BodyReader => {
    const type = head.header("content-type")?.trim().toLowerCase() ?? ""
    if (type.startsWith("text/event-stream")) return streamReader(stream)
    if (head.status === 202 || head.status === 204) {
      return { onData: () => true, onEnd: () => end(stream, undefined) }
    }
    if (type.startsWith("application/json") || type === "") return bodyReader(stream)
    end(stream, broken("unexpected content type"))
    return { onData: () => false, onEnd: () => {} }
  }

  const start = (
    stream: number,
    request: McpUpstreamRequest,
    replay: boolean,
    onHead: (head: ResponseHead) => BodyReader
  ) => {
    let call: UpstreamCall | undefined
    const known: Open = {
      call: {
        pause: () => call?.pause(),
        resume: () => call?.resume(),
        abort: () => call?.abort()
      },
      released: false
    }
    open.set(stream, known)
    call = callUpstream(upstream, request, replay, { onHead, onFailure: (failure) => end(stream, failure) })
    // It was abandoned while it began.
    if (open.get(stream) !== known) call.abort()
  }

  const abort = (stream: number) => {
    const known = open.get(stream)
    open.delete(stream)
    known?.call.abort()
  }

  const sweepLater = () => {
    const due = new Set<number>()
    released = due
    const sweep = contained(containerOf(upstream.tell, "mcp"), () => {
      if (released === due) released = undefined
      for (const stream of due) abort(stream)
    })
    setTimeout(sweep, graceMillis).unref()
  }

  return {
    shared: false,
    sessionId: () => sessionId,
    send: ({ stream, message, method, headers }) => {
      if (closed) return
      const request: McpUpstreamRequest = {
        method: "POST",
        path,
        headers: withSession(
          headers,
          "content-type",
          "application/json",
          "accept",
          "text/event-stream, application/json"
        ),
        body: message
      }
      start(stream, request, method !== undefined && repeatable.has(method), (head) => {
        if (method === "initialize") sessionId = head.header("mcp-session-id") ?? sessionId
        return readerFor(stream, head)
      })
    },
    listen: (stream, headers, lastEventId) => {
      if (closed) return
      const resumption = lastEventId === undefined ? [] : ["last-event-id", lastEventId]
      const request: McpUpstreamRequest = {
        method: "GET",
        path,
        headers: withSession(headers, "accept", "text/event-stream", ...resumption),
        body: undefined
      }
      start(stream, request, true, (head) => {
        if (head.header("content-type")?.trim().toLowerCase().startsWith("text/event-stream") === true)
          return streamReader(stream)
        end(stream, broken("unexpected content type"))
        return { onData: () => false, onEnd: () => {} }
      })
    },
    pause: (stream) => open.get(stream)?.call.pause(),
    resume: (stream) => open.get(stream)?.call.resume(),
    release: (stream) => {
      const known = open.get(stream)
      if (known === undefined || known.released) return
      known.released = true
      known.call.resume()
      if (released === undefined) sweepLater()
      released?.add(stream)
    },
    abandon: abort,
    close: (farewell) => {
      if (closed) return
      closed = true
      for (const [stream, { released }] of open) if (!released) abort(stream)
      if (farewell === undefined || sessionId === undefined) return
      const request: McpUpstreamRequest = { method: "DELETE", path, headers: withSession(farewell), body: undefined }
      callUpstream(upstream, request, true, { onHead: () => undefined, onFailure: () => {} })
    }
  }
}
