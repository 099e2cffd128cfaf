/**
 * The variables of the expression language, as views of a live exchange: nothing is copied, and what no expression reads
 * is never made.
 */
import { Buffer } from "node:buffer"
import type { Bindings } from "../cel/bindings.ts"
import type { HostVariable } from "../cel/phases.ts"
import { type Body, isSource } from "../http/body.ts"
import type { Exchange } from "./exchange.ts"
import { grpcStatusOf } from "./grpc/ending.ts"
import * as slots from "./slots.ts"
import { destinationOf, sourceOf } from "./source.ts"

/** A body as far as it is in memory: an expression that reads one has it read first. */
const held = (body: Body): Uint8Array | null => {
  if (isSource(body)) return null
  return typeof body === "object" ? body : Buffer.from(body ?? "", "utf8")
}

class RequestVariable implements HostVariable<"request"> {
  readonly #x: Exchange
  constructor(x: Exchange) {
    this.#x = x
  }
  get method() {
    return this.#x.request.method
  }
  get path() {
    return this.#x.request.path
  }
  get host() {
    return this.#x.request.authority
  }
  get scheme() {
    return this.#x.request.scheme
  }
  get version() {
    return `HTTP/${this.#x.request.version}`
  }
  get uri() {
    return this.#x.request.uri
  }
  get pathAndQuery() {
    return this.#x.request.pathAndQuery
  }
  get headers() {
    return this.#x.request.headers.flat
  }
  get body() {
    return held(this.#x.requestBody)
  }
  get bodyPrefix() {
    return held(this.#x.requestBody) ?? this.#x.requestBodyPrefix
  }
  get startTime() {
    return this.#x.now
  }
}

class ResponseVariable implements HostVariable<"response"> {
  readonly #x: Exchange
  constructor(x: Exchange) {
    this.#x = x
  }
  get code() {
    return this.#x.response?.status
  }
  get grpcStatus() {
    return this.#x.grpcStatus ?? grpcStatusOf(this.#x.response?.headers)
  }
  get headers() {
    return this.#x.response?.headers.flat
  }
  get body() {
    return held(this.#x.response?.body)
  }
  get bodyPrefix() {
    return held(this.#x.response?.body) ?? this.#x.responseBodyPrefix
  }
}

/** What expressions read of the way of a request. Whoever walks it knows. */
export interface Place {
  readonly proxy: HostVariable<"proxy">
  readonly backend: HostVariable<"backend"> | undefined
}

/** Of a request that nobody has begun to walk. */
export const nowhere: Place = { proxy: {}, backend: undefined }

export class Variables implements Bindings {
  readonly #x: Exchange
  #request: RequestVariable | undefined
  #response: ResponseVariable | undefined
  #source: HostVariable<"source"> | undefined
  #destination: HostVariable<"destination"> | undefined
  /** The model call, as far as it is known; set by the model router. */
  llm: HostVariable<"llm"> | undefined = undefined
  /** The parsed body of a model request; set while policies and guards look at it. */
  llmRequest: HostVariable<"llmRequest"> | undefined = undefined
  /** The call that an MCP relay asks about; set while it asks. */
  mcp: HostVariable<"mcp"> | undefined = undefined

  constructor(x: Exchange) {
    this.#x = x
  }
  get request() {
    this.#request ??= new RequestVariable(this.#x)
    return this.#request
  }
  get response() {
    if (this.#x.response === undefined) return undefined
    this.#response ??= new ResponseVariable(this.#x)
    return this.#response
  }
  get source(): HostVariable<"source"> {
    this.#source ??= sourceOf(this.#x.peer)
    return this.#source
  }
  get destination(): HostVariable<"destination"> {
    this.#destination ??= destinationOf(this.#x.peer)
    return this.#destination
  }
  get jwt() {
    return this.#x.get(slots.jwt)
  }
  get apiKey() {
    return this.#x.get(slots.apiKey)
  }
  get basicAuth() {
    return this.#x.get(slots.basicAuth)
  }
  get metadata() {
    return this.#x.get(slots.metadata)
  }
  get backend() {
    return this.#x.place.backend
  }
  get proxy() {
    return this.#x.place.proxy
  }
  get env() {
    return this.#x.settings.env
  }
  get sensitiveHeaders() {
    return this.#x.settings.hidden.headers
  }
  get sensitiveParameters() {
    return this.#x.settings.hidden.parameters
  }
}
