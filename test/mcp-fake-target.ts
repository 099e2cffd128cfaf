/** A target of MCP that is a few functions: what it hears is kept, and what it says is up to who made it. */

import type { McpTarget } from "../src/protocols/mcp/config.ts"
import type {
  McpEventMark,
  McpOutgoing,
  McpTransport,
  McpTransportEvents,
  TargetFailure
} from "../src/services/mcp-transport.ts"

/** A parsed message. */
export type Json = Readonly<Record<string, unknown>>

/** A message as a target got it. */
export interface Heard {
  readonly text: string
  readonly message: Json
  readonly stream: number
  readonly method: string | undefined
  readonly headers: ReadonlyArray<string>
  readonly connection: Connection
}

/** One connection of the relay to a fake target. */
export interface Connection {
  readonly events: McpTransportEvents
  readonly sessionId: string | undefined
  readonly listening: Array<{ readonly stream: number; readonly lastEventId: string | undefined }>
  readonly paused: Set<number>
  readonly abandoned: Array<number>
  farewell: ReadonlyArray<string> | undefined
  closed: boolean
}

/** A target that does what it is told. Its `hear` decides what happens with a message; nothing by default. */
export class FakeTarget {
  readonly name: string
  readonly shared: boolean
  readonly heard: Array<Heard> = []
  readonly connections: Array<Connection> = []
  refusesToOpen: TargetFailure | undefined
  /** What a request to listen meets: acceptance, a failure, or silence. */
  listens: "opens" | "silent" | TargetFailure = "opens"
  /** Whether it says that it has taken what needs no answer. */
  takes = true
  hear: (heard: Heard) => void

  constructor(name: string, shared: boolean, hear: (heard: Heard) => void = () => {}) {
    this.name = name
    this.shared = shared
    this.hear = hear
  }

  get config(): McpTarget {
    const { name } = this
    return this.shared
      ? { name, kind: "stdio", command: { cmd: name, args: [], env: {}, inheritEnv: [], clearEnv: false } }
      : { name, kind: "http", address: `${name}:80`, dialogue: { protocol: "streamable", path: "/mcp" } }
  }

  get last(): Heard {
    return this.heard.at(-1)!
  }

  methods(): ReadonlyArray<unknown> {
    return this.heard.map(({ message }) => message["method"] ?? "response")
  }

  open(resumed: string | undefined, events: McpTransportEvents): McpTransport | TargetFailure {
    if (this.refusesToOpen !== undefined) return this.refusesToOpen
    const connection: Connection = {
      events,
      sessionId: resumed,
      listening: [],
      paused: new Set(),
      abandoned: [],
      farewell: undefined,
      closed: false
    }
    this.connections.push(connection)
    let sessionId = resumed
    return {
      shared: this.shared,
      sessionId: () => sessionId,
      send: ({ message, stream, expectsAnswer, method, headers }: McpOutgoing) => {
        if (method === "initialize" && !this.shared) sessionId ??= `${this.name}-session`
        const parsed = JSON.parse(message) as Json
        const heard = { text: message, message: parsed, stream, method, headers, connection }
        this.heard.push(heard)
        this.hear(heard)
        if (!expectsAnswer && this.takes) events.onEnd(stream, undefined)
      },
      listen: (stream, _headers, lastEventId) => {
        connection.listening.push({ stream, lastEventId })
        if (this.listens === "opens") events.onOpen(stream)
        else if (this.listens !== "silent") events.onEnd(stream, this.listens)
      },
      pause: (stream) => connection.paused.add(stream),
      resume: (stream) => connection.paused.delete(stream),
      release: () => {},
      abandon: (stream) => connection.abandoned.push(stream),
      close: (farewell) => {
        connection.closed = true
        connection.farewell = farewell
      }
    }
  }

  /** Sends text: on the stream of what was heard, or on the shared channel. */
  say(heard: Heard, text: string, mark?: McpEventMark): void {
    heard.connection.events.onMessage(text, this.shared ? undefined : heard.stream, mark)
  }

  answer(heard: Heard, result: unknown, mark?: McpEventMark): void {
    this.say(heard, JSON.stringify({ jsonrpc: "2.0", id: heard.message["id"], result }), mark)
  }

  refuse(heard: Heard, code: number, message: string): void {
    this.say(heard, JSON.stringify({ jsonrpc: "2.0", id: heard.message["id"], error: { code, message } }))
  }
}

/** Answers requests by method; what is not listed is unknown. `initialize` is answered unless listed. */
export const serving = (
  name: string,
  shared: boolean,
  results: Readonly<Record<string, unknown | ((heard: Heard) => unknown)>>
): FakeTarget => {
  const target = new FakeTarget(name, shared, (heard) => {
    const method = heard.method
    if (method === undefined || heard.message["id"] === undefined) return
    const known = results[method]
    if (known !== undefined) target.answer(heard, typeof known === "function" ? known(heard) : known)
    else if (method === "initialize")
      target.answer(heard, { protocolVersion: "2025-11-25", capabilities: {}, serverInfo: { name, version: "1" } })
    else target.refuse(heard, -32601, "Method not found")
  })
  return target
}
