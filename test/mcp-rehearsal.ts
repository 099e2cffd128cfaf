/** An MCP relay for tests: its targets are functions, its clock is moved by hand, its answers are collected. */
import { Effect, Exit, Fiber, Scope } from "effect"
import { type McpBackendConfig, mcpBackendConfig } from "../src/protocols/mcp/config.ts"
import type { McpEventStream, McpFacts, McpRelay, McpRequest, McpWarning } from "../src/protocols/mcp/contract.ts"
import type { McpHttpServer, McpPlainAnswer, McpUpstreamRequest } from "../src/protocols/mcp/http/contract.ts"
import { makeMcpRelay } from "../src/protocols/mcp/relay.ts"
import { makeSessionIds } from "../src/protocols/mcp/session-id.ts"
import { McpStdio } from "../src/services/mcp-stdio.ts"
import type { McpTransport, TargetFailure } from "../src/services/mcp-transport.ts"
import { FakeClock } from "./fake-clock.ts"
import type { FakeTarget, Json } from "./mcp-fake-target.ts"

/** A response as it looks so far. */
export interface Collected {
  readonly status: number
  readonly headers: ReadonlyMap<string, string>
  /** Everything written up to now. */
  readonly text: () => string
  /** The data of all events with data, parsed. */
  readonly messages: () => ReadonlyArray<Json>
  readonly ended: () => boolean
  readonly facts: McpFacts
  readonly cancel: () => void
  readonly resume: () => void
}

/** The data of each event of a stream. */
export const eventsIn = (text: string): ReadonlyArray<Json> =>
  text
    .split("\n")
    .filter((line) => line.startsWith("data: ") && line.length > 6)
    .map((line) => JSON.parse(line.slice(6)) as Json)

/** The relay and the ways to ask it. */
export interface Rehearsal {
  readonly relay: McpRelay
  readonly clock: FakeClock
  readonly warnings: ReadonlyArray<McpWarning>
  /** Starts a request; `response()` is there when the relay has answered. */
  readonly begin: (request: Partial<McpRequest>) => { readonly response: () => Collected | undefined; cancel(): void }
  /** The answer to a request that is answered without waiting. */
  readonly ask: (request: Partial<McpRequest>) => Collected
  readonly post: (message: unknown, headers?: Readonly<Record<string, string>>) => Collected
  /** Opens a session and returns its id. */
  readonly initialize: (capabilities?: Json) => string
  readonly close: () => Promise<void>
}

const rawHeaders = (headers: Readonly<Record<string, string>>) => Object.entries(headers).flat()

/** Headers that every POST needs. */
export const postHeaders = {
  "content-type": "application/json",
  accept: "application/json, text/event-stream"
}

const collect = (
  response: {
    readonly status: number
    readonly headers: ReadonlyArray<string>
    readonly body: string | Uint8Array | McpEventStream
    readonly facts: McpFacts
  },
  ready: () => boolean
): Collected => {
  const headers = new Map<string, string>()
  for (let i = 0; i < response.headers.length; i += 2) headers.set(response.headers[i]!, response.headers[i + 1]!)
  const { body, status, facts } = response
  let text = ""
  let ended = false
  if (typeof body === "string") text = body
  else if (body instanceof Uint8Array) text = new TextDecoder().decode(body)
  else
    body.start({
      write: (chunk) => {
        text += chunk
        return ready()
      },
      end: () => {
        ended = true
      }
    })
  const stream = typeof body === "string" || body instanceof Uint8Array ? undefined : body
  return {
    status,
    headers,
    text: () => text,
    messages: () => eventsIn(text),
    ended: () => ended || stream === undefined,
    facts,
    cancel: () => stream?.cancel(),
    resume: () => stream?.resume()
  }
}

/** What differs between two processes, or two clients. */
export interface RehearsalOptions {
  readonly key?: Uint8Array
  readonly owner?: string
  /** Who asks, where no request says otherwise; default: an anonymous client. */
  readonly principal?: string
  /** Whether the client takes more after a write. */
  readonly ready?: () => boolean
  /** What a server answers that does not speak MCP. */
  readonly ask?: (request: McpUpstreamRequest) => McpPlainAnswer | TargetFailure | undefined
}

/** A relay with these targets, at time 0. */
export const rehearse = async (
  targets: ReadonlyArray<FakeTarget>,
  config: Partial<McpBackendConfig> = {},
  options: RehearsalOptions = {}
): Promise<Rehearsal> => {
  const clock = new FakeClock()
  const warnings: Array<McpWarning> = []
  const byName = (name: string) => targets.find((target) => target.name === name)!
  const serverOf = (name: string): McpHttpServer => ({
    // A fake HTTP target never refuses to open: nothing is sent yet.
    open: (_, session, events) => byName(name).open(session, events) as McpTransport,
    ask: (request, told) => {
      const answer = options.ask?.(request)
      if (answer !== undefined) told(answer)
      return () => {}
    }
  })
  const configured = mcpBackendConfig({ backend: "backend", targets: targets.map(({ config }) => config), ...config })
  const scope = Scope.makeUnsafe()
  const relay = await Effect.runPromise(
    makeMcpRelay(configured, {
      sessionIds: makeSessionIds(options.key ?? new Uint8Array(32).fill(7)),
      owner: options.owner ?? "one",
      product: { name: "headgate", title: "Headgate", version: "0.0.0" },
      clock,
      servers: new Map(configured.targets.map(({ name }) => [name, serverOf(name)])),
      warn: (warning) => warnings.push(warning)
    }).pipe(
      Effect.provideService(McpStdio, { open: ({ cmd }, _, events) => byName(cmd).open(undefined, events) }),
      Scope.provide(scope)
    )
  )
  const ready = options.ready ?? (() => true)
  const begin = (request: Partial<McpRequest>) => {
    let response: Collected | undefined
    const fiber = Effect.runFork(
      relay.handle({
        method: "POST",
        authority: "localhost",
        headers: [],
        body: new Uint8Array(),
        principal: options.principal ?? "",
        address: "192.0.2.1",
        listener: "listener",
        ...request
      })
    )
    fiber.addObserver((exit) => {
      if (Exit.isSuccess(exit)) response = collect(exit.value, ready)
    })
    return { response: () => response, cancel: () => void Effect.runFork(Fiber.interrupt(fiber)) }
  }
  const ask = (request: Partial<McpRequest>) => begin(request).response()!
  const body = (message: unknown) =>
    new TextEncoder().encode(typeof message === "string" ? message : JSON.stringify(message))
  const post = (message: unknown, headers: Readonly<Record<string, string>> = {}) =>
    ask({ headers: rawHeaders({ ...postHeaders, ...headers }), body: body(message) })
  return {
    relay,
    clock,
    warnings,
    begin,
    ask,
    post,
    initialize: (capabilities = {}) => {
      const clientInfo = { name: "client", version: "1" }
      const params = { protocolVersion: "2025-11-25", capabilities, clientInfo }
      const answer = post({ jsonrpc: "2.0", id: "init", method: "initialize", params })
      return answer.headers.get("mcp-session-id") ?? ""
    },
    close: () => Effect.runPromise(Scope.close(scope, Exit.void))
  }
}

/** A request to begin by hand, for answers that take their time. */
export const posting = (message: unknown, headers: Readonly<Record<string, string>> = {}): Partial<McpRequest> => ({
  headers: rawHeaders({ ...postHeaders, ...headers }),
  body: new TextEncoder().encode(typeof message === "string" ? message : JSON.stringify(message))
})

/** A GET of a session's stream. */
export const listening = (session: string, headers: Readonly<Record<string, string>> = {}): Partial<McpRequest> => ({
  method: "GET",
  headers: rawHeaders({ accept: "text/event-stream", "mcp-session-id": session, ...headers })
})
