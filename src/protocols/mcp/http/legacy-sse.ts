/** HTTP with SSE as of 2024-11-05: one event stream for everything the target says, and an endpoint that it names. */
import { Effect } from "effect"
import {
  type McpOutgoing,
  type McpTransport,
  type McpTransportEvents,
  sharedChannel,
  type TargetFailure
} from "../../../services/mcp-transport.ts"
import type { McpUpstreamRequest } from "./contract.ts"
import { eventSource } from "./event-source.ts"
import { TargetCall, type Upstream } from "./target-call.ts"

const broken = (message: string): TargetFailure => ({ _tag: "TargetBroken", status: 500, message })
const closedOnReceive = broken("upstream closed on receive")
const badEndpoint = broken("upstream named an endpoint of another origin")
const badType = broken("unexpected content type")
const tooLarge = broken("upstream sent a message over the limit")
const late: TargetFailure = { _tag: "TargetTimeout", status: 504, message: "upstream named no endpoint in time" }
const notTaken: TargetFailure = { _tag: "TargetBusy", status: 503, message: "upstream does not take its messages" }

/** Path and query to post to; `undefined` if the target wants us to go elsewhere: it may not choose our destination. */
export const endpointPath = (origin: string, streamPath: string, data: string): string | undefined => {
  const named = data.trim()
  if (named.startsWith("?")) return `${streamPath.split("?")[0]}${named}`
  if (/^[A-Za-z][A-Za-z0-9+.-]*:/.test(named) || named.startsWith("//")) {
    const url = URL.parse(named, origin)
    return url !== null && url.origin === new URL(origin).origin ? `${url.pathname}${url.search}` : undefined
  }
  return named.startsWith("/") ? named : `/${named}`
}

/**
 * The stream opens with the first message and carries its headers; its end is the end of the connection. The connection
 * is made when the endpoint is known, which may take as long as connecting does.
 */
export const legacySseTransport = (upstream: Upstream, path: string, events: McpTransportEvents): McpTransport => {
  const { limits, caller } = upstream
  const posts = new Map<number, TargetCall>()
  let waiting: Array<McpOutgoing> = []
  let waitingChars = 0
  let postPath: string | undefined
  let listening: TargetCall | undefined
  let stopDeadline = () => {}
  let over = false

  const end = () => {
    over = true
    waiting = []
    stopDeadline()
    listening?.abort()
  }

  const die = (failure: TargetFailure) => {
    if (over) return
    end()
    events.onDeath(failure)
  }

  const connect = (headers: ReadonlyArray<string>) => {
    const request: McpUpstreamRequest = {
      method: "GET",
      path,
      headers: [...headers, "accept", "text/event-stream"],
      body: undefined
    }
    stopDeadline = upstream.run(Effect.map(Effect.sleep(limits.endpointMillis), () => die(late)))
    listening = new TargetCall(upstream, request, true, {
      onFailure: die,
      onHead: (head) => {
        if (head.headers.get("content-type")?.trim().toLowerCase().startsWith("text/event-stream") !== true) {
          die(badType)
          return undefined
        }
        const source = eventSource(limits.messageChars, (type, data) => {
          if (over) return
          if (type === "endpoint" && postPath === undefined) named(data)
          else if ((type === undefined || type === "message") && data !== "")
            events.onMessage(data, undefined, undefined)
        })
        return {
          onData: (chunk) => {
            if (source.push(chunk)) return !over
            die(tooLarge)
            return false
          },
          onEnd: () => die(closedOnReceive)
        }
      }
    })
  }

  const named = (data: string) => {
    postPath = endpointPath(caller.origin, path, data)
    if (postPath === undefined) return die(badEndpoint)
    stopDeadline()
    const queue = waiting
    waiting = []
    for (const message of queue) post(message)
  }

  const post = ({ stream, message, headers, expectsAnswer }: McpOutgoing) => {
    if (over || postPath === undefined) return
    const request: McpUpstreamRequest = {
      method: "POST",
      path: postPath,
      headers: [...headers, "content-type", "application/json"],
      body: message
    }
    let finished = false
    const finish = (failure: TargetFailure | undefined) => {
      finished = true
      posts.delete(stream)
      // The answer to a request comes on the event stream; here only a refusal counts.
      if (!over && (failure !== undefined || !expectsAnswer)) events.onEnd(stream, failure)
    }
    const call = new TargetCall(upstream, request, false, {
      onFailure: finish,
      onHead: () => {
        finish(undefined)
        return undefined
      }
    })
    if (!finished) posts.set(stream, call)
  }

  return {
    ...sharedChannel,
    send: (message) => {
      if (over) return
      if (postPath !== undefined) return post(message)
      if (waitingChars + message.message.length > limits.queuedChars) return events.onEnd(message.stream, notTaken)
      waitingChars += message.message.length
      waiting.push(message)
      if (listening === undefined) connect(message.headers)
    },
    listen: (stream) => events.onOpen(stream),
    close: () => {
      end()
      for (const call of posts.values()) call.abort()
      posts.clear()
    }
  }
}
