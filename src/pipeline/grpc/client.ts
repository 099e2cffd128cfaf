/**
 * A client of gRPC for policies, over a compiled backend: its connections, policies, traces and metrics are those of whatever else is
 * called. A failure says the code of the server, or, as for every call, how far it got.
 */
import { Effect, Exit, type Scope } from "effect"
import { HeaderList } from "../../http/header-list.ts"
import { FilterFailed } from "../errors.ts"
import type { jwt } from "../slots.ts"
import type { ConfigPath, ConfigProblem, StageError } from "../stage.ts"
import { type Asking, type Caller, type Reference, SubCalls, type Use } from "../sub-calls.ts"
import type { Reading } from "../view.ts"
import { Deframer, framed } from "./frames.ts"
import { defaultMaxBytes, type GrpcMethod, type GrpcOptions, requestOf } from "./method.ts"
import { endingOf, failed, headFault } from "./status.ts"
import { type GrpcStream, openStream } from "./stream.ts"

/** What came of a call of one message and one answer. */
export interface GrpcReply<O> {
  readonly message: O
  /** What the server said before its message, and behind it. */
  readonly headers: HeaderList
  readonly trailers: HeaderList
}

/** Calls one server. */
export interface GrpcClient {
  /** The address that is called, as far as it is known. */
  readonly target: string
  /** Asks for one answer. Interrupting it ends the call, and so does the end of the time of the request that it is made for. */
  readonly unary: <I, O>(
    caller: Asking & Reading<typeof jwt>,
    method: GrpcMethod<I, O>,
    message: I,
    options: GrpcOptions
  ) => Effect.Effect<GrpcReply<O>, StageError>
  /** Begins a call in which both sides send messages, as they like. It is over when both have ended, when it fails, or when it is cancelled. */
  readonly open: <I, O>(
    caller: Asking & Reading<typeof jwt>,
    method: GrpcMethod<I, O>,
    options: GrpcOptions
  ) => Effect.Effect<GrpcStream<I, O>, FilterFailed>
}

/** The client of a backend. @param path where the reference stands. */
export const resolveGrpc = (
  reference: Reference,
  path: ConfigPath,
  use: Use
): Effect.Effect<GrpcClient, ReadonlyArray<ConfigProblem>, SubCalls | Scope.Scope> =>
  Effect.flatMap(SubCalls, ({ resolve }) => Effect.map(resolve(reference, path, use), grpcOver))

export const grpcOver = (server: Caller): GrpcClient => ({
  target: server.target,
  unary: <I, O>(caller: Asking & Reading<typeof jwt>, method: GrpcMethod<I, O>, message: I, options: GrpcOptions) =>
    Effect.suspend((): Effect.Effect<GrpcReply<O>, StageError> => {
      const most = options.maxBytes ?? defaultMaxBytes
      const request = requestOf(method.path, framed(method.encode(message)), options)
      if (request instanceof FilterFailed) return Exit.fail(request)
      // One byte more than one message has, so that a second one shows.
      const asked = { ...request, maxBytes: most + 2 * prefixed }
      return Effect.flatMapEager(server.ask(caller, asked, options.timeout), (reply) => replied(method, reply, most))
    }),
  open: (caller, method, options) => openStream(server, caller, method, options)
})

const prefixed = 5

interface Whole {
  readonly status: number
  readonly headers: HeaderList
  readonly body: Uint8Array
  readonly trailers?: HeaderList | undefined
}

/** The one message of an answer that is whole. */
const replied = <O>(
  { decode }: GrpcMethod<never, O>,
  { status, headers, body, trailers }: Whole,
  most: number
): Exit.Exit<GrpcReply<O>, StageError> => {
  const head = headFault(status, headers)
  if (head !== undefined) return Exit.fail(head)
  // Where there is no body the head says it all.
  const last = trailers ?? (body.length === 0 ? headers : new HeaderList())
  const ending = endingOf(last)
  if (ending !== undefined) return Exit.fail(ending)
  const messages: Array<Uint8Array> = []
  const deframer = new Deframer(most, (message) => messages.push(message))
  const fault = deframer.take(body)
  if (fault !== undefined) return Exit.fail(fault)
  const [message] = messages
  if (message === undefined || messages.length > 1 || deframer.isAmid)
    return Exit.fail(failed("INTERNAL", "the answer is not one message", last))
  try {
    return Exit.succeed({ message: decode(message), headers, trailers: last })
  } catch {
    return Exit.fail(failed("INTERNAL", "the message cannot be read", last))
  }
}
