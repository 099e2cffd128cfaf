/**
 * Everything outside of the engine, in memory: a backend, the servers that policies ask, and time. It counts what is open,
 * so that a test can tell whether everything was released.
 */
import { Clock, Context, Effect, Exit, Layer } from "effect"
import * as Documents from "../../../layers/documents/layer.ts"
import * as Files from "../../../layers/files.ts"
import * as Jwks from "../../../layers/jwks/live.ts"
import * as Kept from "../../../layers/kept.ts"
import * as ConsoleLog from "../../../layers/log/console.ts"
import * as Passwords from "../../../layers/passwords/layer.ts"
import { verify } from "../../../layers/passwords/verify.ts"
import * as RateLimits from "../../../layers/rate-limits/memory.ts"
import { type Address, formatAddress } from "../../../spec/target.ts"
import type { TraceEvent } from "../../../spec/trace-events.ts"
import { isSource } from "../../http/body.ts"
import { HeaderList } from "../../http/header-list.ts"
import type { Answer } from "../../http/message.ts"
import { CallTimes } from "../../pipeline/call-times.ts"
import type { Exchange } from "../../pipeline/exchange.ts"
import type { StageError } from "../../pipeline/stage.ts"
import { type Caller, SubCalls, type SubRequest } from "../../pipeline/sub-calls.ts"
import { toldFetch } from "../../pipeline/told-fetch.ts"
import { type Fetched, FetchFailed, type FetchRequest, HttpFetch } from "../../services/http-fetch.ts"
import { Monotonic } from "../../services/monotonic.ts"
import { Random } from "../../services/random.ts"
import { Timer } from "../../services/timer.ts"
import { type Upstream, UpstreamFailed, type UpstreamRequest, Upstreams } from "../../services/upstreams.ts"
import type { Content } from "./arbitraries.ts"
import { bodyOf, collect, type Flow } from "./flow.ts"
import { keySet, metadata } from "./issuer.ts"
import { WorldTime } from "./time.ts"

/** What the backend answers. */
export interface BackendAnswer {
  readonly status: number
  readonly headers: ReadonlyArray<readonly [name: string, value: string]>
  readonly body: Content | undefined
  /** Milliseconds until it answers. Default: none. */
  readonly after?: number | undefined
}

/** A backend that cannot be reached, and why. */
export interface BackendDown {
  readonly fails: string
  /** Milliseconds until that is known. Default: none. */
  readonly after?: number | undefined
}
export type BackendSaid = BackendAnswer | BackendDown

/** What a backend received. */
export interface Received {
  /** The address of the backend, as the configuration names it. */
  readonly target: string
  readonly method: string
  readonly authority: string
  readonly path: string
  readonly headers: ReadonlyArray<string>
  readonly body: string
}

/** What another server answers, or why no answer comes. */
export type OutsideAnswer = (Fetched | { readonly fails: string }) & {
  /** Milliseconds until then. Default: none. */
  readonly after?: number | undefined
}

export interface WorldOptions {
  /** Default: 200 without a body. A function sees the request. */
  readonly backend?: BackendSaid | ((received: Received) => BackendSaid) | undefined
  /** What other servers answer, or why no answer comes; `undefined`: what the test issuer does, or 404. */
  readonly outside?: ((request: FetchRequest) => OutsideAnswer | undefined) | undefined
  /** MCP servers behind HTTP by their host: what they answer, by method; null: nothing, ever. `initialize` is answered by itself. */
  readonly servers?: Readonly<Record<string, Readonly<Record<string, unknown>>>> | undefined
  /** Whether everything outside answers in a later turn of the event loop. Default: at once. */
  readonly waits?: boolean | undefined
  /** Whether every server that a policy asks is down. The backend is not. */
  readonly failing?: boolean | undefined
  /** When it begins, in milliseconds since 1970. Default: with the year 2026. */
  readonly start?: number | undefined
}

/** Waits so many milliseconds, where there are any. */
const waiting = <A, E>(milliseconds: number | undefined, effect: Effect.Effect<A, E>): Effect.Effect<A, E> =>
  milliseconds === undefined || milliseconds === 0 ? effect : Effect.delay(effect, milliseconds)

type Called = Pick<UpstreamRequest, "method" | "authority" | "pathAndQuery" | "headers" | "body">

const nothing: BackendAnswer = { status: 200, headers: [], body: undefined }

/** What an MCP server answers a message: its result for the method; null: nothing, ever. */
const spoken = (
  host: string,
  { id, method = "response" }: { readonly id?: unknown; readonly method?: string },
  results: Readonly<Record<string, unknown>>
): Effect.Effect<Answer> => {
  const known = method === "initialize" ? (results[method] ?? introduction(host)) : results[method]
  if (known === null) return Effect.never
  if (id === undefined) return Effect.succeed({ status: 202, headers: new HeaderList(), body: undefined })
  const said = known === undefined ? { error: { code: -32601, message: "Method not found" } } : { result: known }
  const headers = new HeaderList(["content-type", "application/json"])
  if (method === "initialize") headers.set("mcp-session-id", `${host}-session`)
  return Effect.succeed({ status: 200, headers, body: JSON.stringify({ jsonrpc: "2.0", id, ...said }) })
}

const introduction = (name: string) => ({
  protocolVersion: "2025-11-25",
  capabilities: {},
  serverInfo: { name, version: "1" }
})

const published: ReadonlyArray<readonly [end: string, body: string]> = [
  ["/jwks", keySet],
  ["/certs", keySet],
  ["/.well-known/jwks.json", keySet],
  ["/.well-known/openid-configuration", metadata],
  ["/.well-known/oauth-authorization-server", metadata]
]

/** Passwords are checked where they are shown: a thread of its own has a time of its own. */
const passwords = Passwords.layerWith((password, hash, answer) => {
  answer(verify(password, hash))
  return () => {}
})

/** The services that a world provides. */
export type WorldServices = Layer.Success<World["layer" | "references"]>

export class World {
  readonly #options: WorldOptions
  /** What the backend received, in order. */
  readonly received: Array<Received> = []
  /** Everything that was called, in order: `GET https://issuer.example/certs`, `POST backend.example:80/path`, `tools/call tools.example`. */
  readonly called: Array<string> = []
  /** The events of every watched request, those that nobody waited for included. */
  readonly traces: Array<ReadonlyArray<TraceEvent>> = []
  /** Every streamed body, of requests and of answers. */
  readonly flows: Array<Flow> = []
  /** Calls that have begun and not ended. */
  open = 0
  /** Those who want to know how an exchange ended, and were not told. */
  awaited = 0
  /** It moves on by itself when everything in the world waits. */
  readonly time: WorldTime

  /** Whether everything outside answers in a later turn of the event loop. */
  readonly waits: boolean
  /** Whether every server that a policy asks is down. */
  readonly failing: boolean

  constructor(options: WorldOptions = {}) {
    this.#options = options
    this.waits = options.waits === true
    this.failing = options.failing === true
    this.time = new WorldTime(options.start ?? Date.UTC(2026, 0, 1))
  }

  /** Milliseconds since the world began. */
  readonly clock = (): number => this.time.monotonic()

  /** Numbers of which each is far from the one before: the same in every world. */
  readonly random = (): number => {
    this.#drawn = (this.#drawn + 0.618_033_988_749_895) % 1
    return this.#drawn
  }
  #drawn = 0

  #call<A, E>(answer: Effect.Effect<A, E>): Effect.Effect<A, E> {
    const waiting = this.waits ? Effect.andThen(Effect.yieldNow, answer) : answer
    return Effect.suspend(() => {
      this.open++
      if (Exit.isExit(waiting)) {
        this.open--
        return waiting
      }
      return Effect.ensuring(
        waiting,
        Effect.sync(() => this.open--)
      )
    })
  }

  /** Calls a backend at an address. */
  readonly call = (target: string, request: Called): Effect.Effect<Answer, UpstreamFailed> =>
    this.#call(
      Effect.flatMap(collect(request.body), ({ text, failure }): Effect.Effect<Answer, UpstreamFailed> => {
        if (failure !== undefined)
          return Effect.fail(new UpstreamFailed({ kind: "request body", detail: failure, reached: "sent" }))
        const { method, authority, pathAndQuery, headers } = request
        const received = { target, method, authority, path: pathAndQuery, headers: [...headers.flat], body: text }
        this.received.push(received)
        const host = target.slice(0, target.lastIndexOf(":"))
        const results = this.#options.servers?.[host]
        if (results !== undefined) return this.#asked(host, method, text, results)
        this.called.push(`${method} ${target}${pathAndQuery}`)
        const { backend = nothing } = this.#options
        const said = typeof backend === "function" ? backend(received) : backend
        const answer =
          "fails" in said
            ? Effect.fail(
                new UpstreamFailed({ kind: "connection refused", detail: said.fails, reached: "nothing sent" })
              )
            : Effect.sync(
                (): Answer => ({
                  status: said.status,
                  headers: HeaderList.from(said.headers),
                  body: method === "HEAD" ? undefined : bodyOf("answer", said.body, this.flows)
                })
              )
        return waiting(said.after, this.waits ? Effect.andThen(Effect.yieldNow, answer) : answer)
      })
    )

  /** Asks an MCP server. Of what it is asked it reads messages alone. */
  #asked(
    host: string,
    method: string,
    text: string,
    results: Readonly<Record<string, unknown>>
  ): Effect.Effect<Answer> {
    if (method !== "POST") return Effect.succeed({ status: 405, headers: new HeaderList(), body: undefined })
    const message = JSON.parse(text) as { readonly method?: string }
    this.called.push(`${message.method ?? "response"} ${host}`)
    return spoken(host, message, results)
  }

  /** Calls the backend of a way without a configuration file. */
  readonly backend = (x: Exchange): Effect.Effect<Answer, StageError> =>
    this.call("backend.example:80", {
      method: x.request.method,
      authority: x.request.authority,
      pathAndQuery: x.request.pathAndQuery,
      headers: x.request.headers,
      body: x.requestBody
    })

  readonly #fetch = (request: FetchRequest): Effect.Effect<Fetched, FetchFailed> =>
    this.#call(
      Effect.suspend((): Effect.Effect<Fetched, FetchFailed> => {
        this.called.push(`${request.method} ${request.url}`)
        if (this.failing) return Effect.fail(new FetchFailed({ url: request.url, detail: "connection refused" }))
        const said = this.#options.outside?.(request)
        if (said !== undefined)
          return waiting(
            said.after,
            "fails" in said
              ? Effect.fail(new FetchFailed({ url: request.url, detail: said.fails }))
              : Effect.succeed(said)
          )
        const body = published.find(([end]) => request.url.endsWith(end))?.[1]
        return Effect.succeed({
          status: body === undefined ? 404 : 200,
          headers: new HeaderList(["content-type", "application/json"]),
          body: Buffer.from(body ?? "{}")
        })
      })
    )

  /** Backends of any address. */
  readonly upstreams = Layer.succeed(Upstreams, {
    open: (target) => Effect.succeed(this.#upstreamAt(target)),
    openChosen: () => Effect.succeed({ pseudonym: "world", at: (target) => this.#upstreamAt(target) }),
    // Its backends answer requests.
    openStreams: () => Effect.succeed({ connect: Effect.never, idleTimeout: undefined })
  })

  #upstreamAt(target: Address): Upstream {
    return {
      send: (request) => {
        const call = this.call(formatAddress(target), request)
        const { timeout, patience } = request
        // Bodies of clients come at once.
        const limit = (timeout?.milliseconds ?? Infinity) < (patience?.milliseconds ?? Infinity) ? timeout : patience
        if (limit === undefined) return call
        const { milliseconds, failure } = limit
        const orElse = () => Effect.suspend(() => Effect.fail(failure("sent")))
        return Effect.timeoutOrElse(call, { duration: milliseconds, orElse })
      }
    }
  }

  /** Where there is no configuration, what a reference leads to is the server outside that its address names. */
  readonly references = Layer.succeed(SubCalls, { resolve: ({ host }) => Effect.succeed(this.#callerOf(host)) })

  #callerOf(host: Address | undefined): Caller {
    const target = host === undefined ? "server.example:80" : formatAddress(host)
    const { origin } = new URL(target.startsWith("https://") ? target : `http://${target}`)
    const asked = ({ method, pathAndQuery, headers, body, maxBytes }: SubRequest, timeout?: number) => {
      if (isSource(body)) return Effect.die(new Error("servers of cases take whole bodies"))
      return Effect.catch(
        this.#fetch({
          method: method === "POST" ? "POST" : "GET",
          url: origin + pathAndQuery,
          headers,
          body,
          timeout,
          maxBytes
        }),
        ({ detail: kind }) => Effect.fail(new UpstreamFailed({ kind, detail: target, reached: "nothing sent" }))
      )
    }
    return {
      target,
      origin,
      showsCredential: false,
      handsOver: false,
      credentials: undefined,
      ask: (_, request, timeout) => asked(request, timeout),
      send: (_, request) => asked(request)
    }
  }

  /** What runs in the world lives by its time. */
  get timing(): Context.Context<never> {
    return Context.make(Clock.Clock, this.time.clock).pipe(
      Context.add(Timer, this.time.later),
      Context.add(Monotonic, this.clock),
      Context.add(Random, this.random)
    )
  }

  /** The services of the proxy's own policies. */
  readonly layer = Layer.suspend(() => {
    const quiet = ConsoleLog.layer({ filter: "off", format: "text", write: () => {}, now: this.clock })
    const outside = Layer.mergeAll(
      Layer.effect(
        HttpFetch,
        Effect.map(CallTimes, (times) => ({ fetch: toldFetch(this.#fetch, times, this.clock) }))
      ),
      Layer.succeedContext(this.timing),
      quiet
    )
    return Layer.provideMerge(
      Layer.mergeAll(Jwks.layer, RateLimits.layer, Layer.provide(passwords, Kept.layer)),
      Layer.provideMerge(Layer.merge(Documents.layer, Files.layer), outside)
    )
  })

  /** What was opened and not released; empty when nothing leaks. */
  leaks(): ReadonlyArray<string> {
    return [
      ...(this.open === 0 ? [] : [`${this.open} calls are still open`]),
      ...(this.time.waiting === 0 ? [] : [`${this.time.waiting} timers are still set`]),
      ...(this.awaited === 0 ? [] : [`${this.awaited} finishers were not told, or told twice`]),
      ...this.flows.filter(({ released }) => !released).map(({ name }) => `the body of a ${name} was not released`)
    ]
  }
}
