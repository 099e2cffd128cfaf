/** One HTTP request to a target: its policies, the head of the response, decoded bytes, back-pressure. */
import { Cause, Effect, Exit, Option } from "effect"
import { type BodyAborted, type BodySink, type BodySource, isSource } from "../../src/http/body.ts"
import { contentCodings, decoded, isUndecodable } from "../../src/http/content-coding.ts"
import { HeaderList } from "../../src/http/header-list.ts"
import type { Answer } from "../../src/http/message.ts"
import type { Container } from "../../src/services/contained.ts"
import type { TellDefect } from "../../src/services/defects.ts"
import type { McpHttpAddress, McpUpstreamRequest } from "../../src/services/mcp-http.ts"
import type { TargetFailure } from "../../src/services/mcp-transport.ts"
import type { UpstreamError } from "../../src/services/upstreams.ts"
import { type Connections, UpstreamCall } from "../http/upstream-call.ts"

/** Where the requests of a target go. */
export interface Upstream {
  /** Told of what went wrong in the proxy itself. */
  readonly tell: TellDefect
  readonly onRequest: McpHttpAddress["onRequest"]
  readonly connections: Connections
  readonly scheme: McpHttpAddress["scheme"]
  /** The `host` header. */
  readonly authority: string
  /** Runs what has to wait; the returned function gives it up. */
  readonly run: (effect: Effect.Effect<void>) => () => void
  readonly limits: UpstreamLimits
}

/** What is read of a target, and kept for it. */
export interface UpstreamLimits {
  /** Characters of one message. */
  readonly messageChars: number
  /** Bytes of a refusal that is handed to the client. */
  readonly errorBytes: number
  /** Characters of messages that wait for a target which has not said yet where to post them. */
  readonly queuedChars: number
}

/** Status and headers of a success. */
export type ResponseHead = Pick<Answer, "status" | "headers">

/** What becomes of a response. */
export interface ResponseHandler {
  /** Decides by returning a reader; without one the body, if there is any, is not read. */
  readonly onHead: (head: ResponseHead) => BodyReader | undefined
  /** The request failed, before or after its head. Nothing follows. */
  readonly onFailure: (failure: TargetFailure) => void
}

/** Takes the decoded body as it comes. */
export interface BodyReader {
  /** `false` ends the response: the reader has seen enough. */
  readonly onData: (chunk: Uint8Array) => boolean
  readonly onEnd: () => void
}

/** A header of the client that cannot be sent, for example. */
const unsendable: TargetFailure = {
  _tag: "TargetBroken",
  status: 500,
  message: "the request cannot be sent to the upstream"
}

const unreachable = (message: string): TargetFailure => ({ _tag: "TargetUnreachable", status: 503, message })

const failureOf = (error: UpstreamError): TargetFailure => {
  switch (error._tag) {
    case "UpstreamTimedOut":
      return { _tag: "TargetTimeout", status: 504, message: error.message }
    case "UpstreamFailed":
      return error.kind === "request" ? unsendable : unreachable(error.message)
    default:
      return unreachable(error.message)
  }
}

const badEncoding: TargetFailure = { _tag: "TargetBroken", status: 500, message: "upstream sent an undecodable body" }
const broken: TargetFailure = { _tag: "TargetBroken", status: 500, message: "internal error" }
const badPolicy: TargetFailure = { _tag: "TargetBroken", status: 500, message: "a policy of the target failed" }

/** A request under way. Begun when it is made; its handler may be told before the constructor returns. */
export class TargetCall implements BodySink, Container {
  readonly #upstream: Upstream
  readonly #handler: ResponseHandler
  #call: UpstreamCall<never> | undefined = undefined
  #stopPolicies: (() => void) | undefined = undefined
  #source: BodySource | undefined = undefined
  #reader: BodyReader | undefined = undefined
  #paused = false
  #over = false

  /** @param repeatable it does no harm when the target gets it a second time. */
  constructor(upstream: Upstream, request: McpUpstreamRequest, repeatable: boolean, handler: ResponseHandler) {
    this.#upstream = upstream
    this.#handler = handler
    const policies = upstream.onRequest?.(request)
    if (policies === undefined || (Exit.isExit(policies) && Exit.isSuccess(policies))) this.#send(request, repeatable)
    else {
      this.#stopPolicies = upstream.run(
        Effect.map(Effect.exit(policies), (exit) => {
          if (this.#over) return
          if (Exit.isSuccess(exit)) this.#send(request, repeatable)
          else this.#fail(Option.getOrElse(Cause.findErrorOption(exit.cause), () => badPolicy))
        })
      )
    }
  }

  #send({ method, path, headers, body }: McpUpstreamRequest, repeatable: boolean): void {
    const { connections, authority } = this.#upstream
    this.#call = new UpstreamCall(
      connections,
      {
        method,
        pathAndQuery: path,
        authority,
        headers: new HeaderList(headers),
        body,
        repeatable,
        // A quiet stream is not a dead one, and a tool may take its time.
        timeout: undefined,
        upgrade: undefined,
        onInformation: undefined
      },
      (exit) => this.#settled(exit)
    )
  }

  #settled(exit: Exit.Exit<Answer, UpstreamError>): void {
    try {
      if (Exit.isSuccess(exit)) this.#answered(exit.value)
      else this.#fail(Option.match(Cause.findErrorOption(exit.cause), { onNone: () => broken, onSome: failureOf }))
    } catch (cause) {
      this.contain(cause)
    }
  }

  #answered(answer: Answer): void {
    const { status, headers } = answer
    const codings = answer.body === undefined ? [] : contentCodings(headers.getAll("content-encoding"))
    if (codings === "unknown") {
      this.#stop()
      this.#handler.onFailure(badEncoding)
      return
    }
    const reader =
      status < 300
        ? this.#handler.onHead(answer)
        : new RefusalReader(this.#upstream.limits.errorBytes, answer, this.#handler)
    // Whoever was told of the head may have ended it.
    if (this.#over) return
    if (reader === undefined) {
      this.#stop()
      return
    }
    this.#reader = reader
    const body = decoded(answer.body, codings, "backend")
    if (isSource(body)) {
      this.#source = body
      body.start(this)
    } else {
      if (body !== undefined) this.data(bytesOf(body))
      this.end()
    }
  }

  /** Returns whether there may be more. */
  #take(chunk: Uint8Array): boolean {
    if (this.#over) return false
    if (!this.#reader!.onData(chunk)) this.#stop()
    return !this.#over
  }

  #end(): void {
    if (this.#over) return
    this.#over = true
    this.#reader!.onEnd()
  }

  #fail(failure: TargetFailure): void {
    if (this.#over) return
    this.#over = true
    this.#handler.onFailure(failure)
  }

  /** The whole of it may have come already: what expands to more than anybody reads is not expanded any further. */
  #stop(): void {
    this.#over = true
    this.#source?.cancel()
    this.#stopPolicies?.()
    this.#call?.cancel()
  }

  // What the source of the body tells.

  data(chunk: Uint8Array): boolean {
    try {
      return this.#take(chunk) && !this.#paused
    } catch (cause) {
      this.contain(cause)
      return false
    }
  }

  end(): void {
    try {
      this.#end()
    } catch (cause) {
      this.contain(cause)
    }
  }

  fail(error: BodyAborted): void {
    try {
      this.#fail(isUndecodable(error) ? badEncoding : unreachable(`upstream call failed: ${error.detail}`))
    } catch (cause) {
      this.contain(cause)
    }
  }

  contain(cause: unknown): void {
    this.#upstream.tell("mcp", cause)
    const over = this.#over
    this.#stop()
    if (!over) this.#handler.onFailure(broken)
  }

  // What its owner asks for.

  /** Reads no more for now; what has come already may still be told. */
  pause(): void {
    this.#paused = true
  }

  resume(): void {
    if (!this.#paused) return
    this.#paused = false
    this.#source?.resume()
  }

  /** Nothing is reported any more. */
  abort(): void {
    if (!this.#over) this.#stop()
  }
}

/** Collects the body of an answer that is not a success. */
class RefusalReader implements BodyReader {
  readonly #limit: number
  readonly #head: ResponseHead
  readonly #handler: ResponseHandler
  readonly #chunks: Array<Uint8Array> = []
  #bytes = 0

  constructor(limit: number, head: ResponseHead, handler: ResponseHandler) {
    this.#limit = limit
    this.#head = head
    this.#handler = handler
  }

  onData(chunk: Uint8Array): boolean {
    const room = this.#limit - this.#bytes
    this.#chunks.push(chunk.length > room ? chunk.subarray(0, room) : chunk)
    this.#bytes += Math.min(chunk.length, room)
    if (this.#bytes < this.#limit) return true
    this.onEnd()
    return false
  }

  onEnd(): void {
    const { status, headers } = this.#head
    // The body is decoded by now.
    headers.delete("content-encoding")
    this.#handler.onFailure({
      _tag: "TargetStatus",
      status,
      message: `upstream answered with status ${status}`,
      headers: headers.flat,
      body: Buffer.concat(this.#chunks)
    })
  }
}

const bytesOf = (body: string | Uint8Array): Uint8Array => (typeof body === "string" ? Buffer.from(body) : body)
