/** One HTTP request to a target: the head of the response, decoded bytes, back-pressure. */
import { type Effect, Exit } from "effect"
import { type BodyAborted, type BodySink, type BodySource, isSource } from "../../../http/body.ts"
import { contentCodings, decoded, isUndecodable } from "../../../http/content-coding.ts"
import type { Answer } from "../../../http/message.ts"
import { Defect } from "../../../pipeline/errors.ts"
import { errorOf } from "../../../pipeline/run.ts"
import type { StageError } from "../../../pipeline/stage.ts"
import type { Container } from "../../../services/contained.ts"
import type { TellDefect } from "../../../services/defects.ts"
import type { TargetFailure } from "../../../services/mcp-transport.ts"
import { UpstreamFailed } from "../../../services/upstreams.ts"
import type { McpCaller, McpUpstreamRequest } from "./contract.ts"

/** Where the requests of a target go. */
export interface Upstream {
  /** Told of what went wrong in the proxy itself. */
  readonly tell: TellDefect
  readonly caller: McpCaller
  /** Runs what has to wait; the returned function gives it up. */
  readonly run: <A, E>(
    effect: Effect.Effect<A, E>,
    options?: { readonly onExit: (exit: Exit.Exit<A, E>) => void }
  ) => () => void
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
  /** Milliseconds until such a target has to have said it. */
  readonly endpointMillis: number
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

/** A call that failed, or a policy of the target that refused it: that one is handed to the client like a refusal of the target. */
const failureOf = (error: StageError): TargetFailure => {
  const { message, source, status } = error
  if (error instanceof UpstreamFailed && error.kind === "request") return unsendable
  if (source === "backend") return status === 504 ? { _tag: "TargetTimeout", status, message } : unreachable(message)
  if (source === "proxy") return { _tag: "TargetBroken", status: 500, message }
  const { type, body } = error.content ?? { type: "text/plain", body: message }
  const headers = [...(error.headers ?? []), ...(type === undefined ? [] : ["content-type", type])]
  return { _tag: "TargetStatus", status, message, headers, body: Buffer.from(body) }
}

const badEncoding: TargetFailure = { _tag: "TargetBroken", status: 500, message: "upstream sent an undecodable body" }
const broken: TargetFailure = { _tag: "TargetBroken", status: 500, message: "internal error" }

/** A request under way. Begun when it is made; its handler may be told before the constructor returns. */
export class TargetCall implements BodySink, Container {
  readonly #upstream: Upstream
  readonly #handler: ResponseHandler
  /** Ends the call, as long as there is no answer. */
  #giveUp: (() => void) | undefined = undefined
  #source: BodySource | undefined = undefined
  #reader: BodyReader | undefined = undefined
  #paused = false
  #over = false

  /** @param repeatable it does no harm when the target gets it a second time. */
  constructor(upstream: Upstream, request: McpUpstreamRequest, repeatable: boolean, handler: ResponseHandler) {
    this.#upstream = upstream
    this.#handler = handler
    this.#giveUp = upstream.run(upstream.caller.call(request, repeatable), { onExit: (exit) => this.#settled(exit) })
  }

  #settled(exit: Exit.Exit<Answer, StageError>): void {
    // Given up: nobody wants to know.
    if (this.#over) return
    try {
      if (Exit.isSuccess(exit)) this.#answered(exit.value)
      else this.#failed(errorOf(exit.cause))
    } catch (cause) {
      this.contain(cause)
    }
  }

  #failed(error: StageError | undefined): void {
    if (error instanceof Defect) this.#upstream.tell("mcp", error.cause)
    this.#fail(error === undefined || error instanceof Defect ? broken : failureOf(error))
  }

  #answered(answer: Answer): void {
    const { status, headers } = answer
    if (isSource(answer.body)) this.#source = answer.body
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
    this.#giveUp?.()
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
