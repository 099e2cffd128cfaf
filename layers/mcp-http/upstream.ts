/** One HTTP request to a target over undici's raw dispatch: policies, response head, decoded bytes, back-pressure. */
import type { IncomingHttpHeaders } from "node:http"
import { Cause, Effect, Exit, Option } from "effect"
import type { Dispatcher } from "undici"
import { contained } from "../../src/services/contained.ts"
import { containerOf, type TellDefect } from "../../src/services/defects.ts"
import type { McpHttpAddress, McpUpstreamRequest } from "../../src/services/mcp-http.ts"
import type { TargetFailure } from "../../src/services/mcp-transport.ts"
import { type Decoder, decoderFor } from "./content-decoding.ts"

/** Where the requests of a target go. */
export interface Upstream {
  /** Told of what went wrong in the proxy itself. */
  readonly tell: TellDefect
  readonly address: McpHttpAddress
  readonly origin: string
  readonly dispatcher: Dispatcher
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
export interface ResponseHead {
  readonly status: number
  /** Lower-case names; the first value of each. */
  readonly header: (name: string) => string | undefined
}

/** What becomes of a response: `onHead` decides by returning a reader, or `undefined` to ignore the body. */
export interface ResponseHandler {
  readonly onHead: (head: ResponseHead) => BodyReader | undefined
  /** The request failed, before or after its head. Nothing follows. */
  readonly onFailure: (failure: TargetFailure) => void
}

/** Takes the decoded body as it comes. */
export interface BodyReader {
  /** `false` ends the response: the reader has seen enough. */
  readonly onData: (chunk: Buffer) => boolean
  readonly onEnd: () => void
}

/** A request under way. */
export interface UpstreamCall {
  readonly pause: () => void
  readonly resume: () => void
  /** Nothing is reported any more. */
  readonly abort: () => void
}

/** A header of the client that cannot be sent, for example. */
const unsendable: TargetFailure = {
  _tag: "TargetBroken",
  status: 500,
  message: "the request cannot be sent to the upstream"
}

const failureOf = (error: Error): TargetFailure => {
  const code = (error as NodeJS.ErrnoException).code
  if (code === "UND_ERR_INVALID_ARG") return unsendable
  if (code === "UND_ERR_CONNECT_TIMEOUT" || code === "UND_ERR_HEADERS_TIMEOUT" || code === "UND_ERR_BODY_TIMEOUT")
    return { _tag: "TargetTimeout", status: 504, message: "upstream call timeout" }
  return { _tag: "TargetUnreachable", status: 503, message: `upstream call failed: ${code ?? "connection error"}` }
}

const badEncoding: TargetFailure = { _tag: "TargetBroken", status: 500, message: "upstream sent an undecodable body" }
const broken: TargetFailure = { _tag: "TargetBroken", status: 500, message: "internal error" }
const stopped = new Error("stopped")

/** A connection that was kept alive may have been closed by the target just as we used it. */
const isStale = (error: Error) => {
  const code = (error as NodeJS.ErrnoException).code
  return code === "ECONNRESET" || code === "UND_ERR_SOCKET" || code === "EPIPE"
}

const latin1 = (value: Buffer | string): string => (typeof value === "string" ? value : value.toString("latin1"))

/** Flat raw list, names in lower case, in the order in which the target sent them. */
const rawHeaders = (controller: Dispatcher.DispatchController, headers: IncomingHttpHeaders): Array<string> => {
  const raw = controller.rawHeaders
  const list: Array<string> = []
  if (Array.isArray(raw)) {
    for (let i = 0; i + 1 < raw.length; i += 2) list.push(latin1(raw[i]!).toLowerCase(), latin1(raw[i + 1]!))
    return list
  }
  for (const [name, value] of Object.entries(headers))
    for (const one of Array.isArray(value) ? value : [value]) if (one !== undefined) list.push(name, one)
  return list
}

/** `replay`: the request may be sent a second time when its connection broke before anything came back. */
export const callUpstream = (
  upstream: Upstream,
  request: McpUpstreamRequest,
  replay: boolean,
  handler: ResponseHandler
): UpstreamCall => {
  let controller: Dispatcher.DispatchController | undefined
  let over = false
  let paused = false

  const fail = (failure: TargetFailure) => {
    if (over) return
    over = true
    handler.onFailure(failure)
  }

  const dispatch = (again: boolean) => {
    if (over) return
    try {
      upstream.dispatcher.dispatch(
        {
          origin: upstream.origin,
          path: request.path,
          method: request.method,
          headers: request.headers,
          body: request.body ?? null,
          // A quiet stream is not a dead one, and a tool may take its time.
          headersTimeout: 0,
          bodyTimeout: 0
        },
        exchange(again)
      )
    } catch {
      fail(unsendable)
    }
  }

  const exchange = (again: boolean): Dispatcher.DispatchHandler => {
    let begun = false
    let reader: BodyReader | undefined
    let decoder: Decoder | undefined
    const stop = () => {
      // The whole of it may have come already: what expands to more than anybody reads is not expanded any further.
      decoder?.destroy()
      controller?.abort(stopped)
    }
    const container = containerOf(upstream.tell, "mcp", () => {
      stop()
      fail(broken)
    })
    const take = contained(container, (chunk: Buffer) => {
      if (over || reader === undefined || reader.onData(chunk)) return
      over = true
      stop()
    })
    const decoded = contained(container, () => {
      if (!over) end(reader)
    })
    const undecodable = contained(container, () => {
      fail(badEncoding)
      stop()
    })
    const drained = contained(container, () => controller?.resume())
    return {
      onRequestStart: (current) => {
        controller = current
        if (over) current.abort(stopped)
      },
      onResponseStart: (current, status, headers) => {
        if (over || status < 200) return
        begun = true
        const first = (name: string) => {
          const value = headers[name]
          return Array.isArray(value) ? value[0] : value
        }
        const decoding = decoderFor(first("content-encoding"))
        if (decoding === "unknown") {
          fail(badEncoding)
          return current.abort(stopped)
        }
        if (status >= 300) reader = refusalReader(upstream, status, rawHeaders(current, headers), handler.onFailure)
        else reader = handler.onHead({ status, header: first })
        if (decoding === undefined) return
        decoder = decoding
        decoding.on("data", take).on("drain", drained).on("error", undecodable).on("end", decoded)
      },
      onResponseData: (current, chunk) => {
        if (decoder === undefined) take(chunk)
        else if (!decoder.destroyed && !decoder.write(chunk)) current.pause()
      },
      onResponseEnd: () => {
        if (over) return
        if (decoder === undefined) end(reader)
        else if (!decoder.destroyed) decoder.end()
      },
      // Undici catches what the others throw, and tells this one; beyond it nobody catches.
      onResponseError: contained(container, (_, error: Error) => {
        decoder?.destroy()
        if (over) return
        if (again && !begun && isStale(error)) dispatch(false)
        else fail(failureOf(error))
      })
    }
  }

  const end = (reader: BodyReader | undefined) => {
    over = true
    reader?.onEnd()
  }

  const policies = upstream.address.onRequest?.(request)
  if (policies === undefined || (Exit.isExit(policies) && Exit.isSuccess(policies))) dispatch(replay)
  else
    upstream.run(
      Effect.map(Effect.exit(policies), (exit) => {
        if (Exit.isSuccess(exit)) return dispatch(replay)
        const failure = Cause.findErrorOption(exit.cause)
        fail(
          Option.isSome(failure)
            ? failure.value
            : { _tag: "TargetBroken", status: 500, message: "a policy of the target failed" }
        )
      })
    )

  return {
    pause: () => {
      paused = true
      controller?.pause()
    },
    resume: () => {
      if (paused) controller?.resume()
      paused = false
    },
    abort: () => {
      if (over) return
      over = true
      controller?.abort(stopped)
    }
  }
}

/** Collects the body of an answer that is not a success. */
const refusalReader = (
  { limits }: Upstream,
  status: number,
  headers: ReadonlyArray<string>,
  fail: (failure: TargetFailure) => void
): BodyReader => {
  const chunks: Array<Buffer> = []
  let bytes = 0
  const done = () => {
    // The body is decoded by now.
    const kept: Array<string> = []
    for (let i = 0; i < headers.length; i += 2)
      if (headers[i] !== "content-encoding") kept.push(headers[i]!, headers[i + 1]!)
    const message = `upstream answered with status ${status}`
    fail({ _tag: "TargetStatus", status, message, headers: kept, body: Buffer.concat(chunks) })
  }
  return {
    onData: (chunk) => {
      const room = limits.errorBytes - bytes
      chunks.push(chunk.length > room ? chunk.subarray(0, room) : chunk)
      bytes += Math.min(chunk.length, room)
      if (bytes < limits.errorBytes) return true
      done()
      return false
    },
    onEnd: done
  }
}
