/** A call of gRPC in which both sides send messages, as they like: what is sent is the body of a request, what comes that of its answer. */
import { Cause, Effect, Exit } from "effect"
import { isSource } from "../../http/body.ts"
import type { HeaderList } from "../../http/header-list.ts"
import type { Answer } from "../../http/message.ts"
import { type Container, contained, ignore } from "../../services/contained.ts"
import { Timer } from "../../services/timer.ts"
import { requestTimedOut } from "../deadline.ts"
import { FilterFailed } from "../errors.ts"
import { jwt } from "../slots.ts"
import type { StageError } from "../stage.ts"
import type { Asking, Caller } from "../sub-calls.ts"
import type { Reading } from "../view.ts"
import { Incoming, Outgoing } from "./messages.ts"
import { defaultMaxBytes, type GrpcMethod, type GrpcOptions, requestOf } from "./method.ts"
import { endingOf, failed, headFault } from "./status.ts"

/** A call in which both sides send messages. */
export interface GrpcStream<I, O> {
  /** Sends a message, and waits while the server takes none. How the call ended is for whoever receives to hear. */
  readonly send: (message: I) => Effect.Effect<void, StageError>
  /** No more messages are sent. */
  readonly end: () => void
  /** The next message of the server; `undefined`: it has ended as it should. Asked for by one at a time. */
  readonly receive: Effect.Effect<O | undefined, StageError>
  /** What the server said before its first message, once it is there. */
  readonly headers: () => HeaderList | undefined
  /** What it said behind its last one. */
  readonly trailers: () => HeaderList | undefined
  /** Ends the call. Whoever opens one sees to it that this is called when its request is over: nobody else does. */
  readonly cancel: () => void
}

/** @param server that is called. */
export const openStream = <I, O>(
  server: Caller,
  caller: Asking & Reading<typeof jwt>,
  method: GrpcMethod<I, O>,
  options: GrpcOptions
): Effect.Effect<GrpcStream<I, O>, FilterFailed> =>
  Effect.withFiber((fiber) => {
    const outgoing = new Outgoing()
    const request = requestOf(method.path, outgoing, options)
    if (request instanceof FilterFailed) return Exit.fail(request)
    let giveUp = ignore
    let headers: HeaderList | undefined
    let trailers: HeaderList | undefined
    const incoming = new Incoming(options.maxBytes ?? defaultMaxBytes, (how) => {
      callOff()
      outgoing.close(how === "well" ? failed("CANCELLED", "the server has ended the call") : how)
      giveUp()
      if (how !== "well") incoming.stop()
    })
    const container: Container = {
      contain: (cause) => incoming.conclude(failed("INTERNAL", cause instanceof Error ? cause.message : "a defect"))
    }
    const late = contained(container, () => incoming.conclude(failed("DEADLINE_EXCEEDED", "its time is up")))
    const callOff = fiber.getRef(Timer)(options.timeout, late)
    const answered = ({ status, headers: list, body }: Answer) => {
      headers = list
      giveUp = ignore
      const fault = headFault(status, list)
      if (fault !== undefined || !isSource(body)) {
        if (isSource(body)) body.cancel()
        // Where there is no body the head says it all.
        trailers = list
        incoming.conclude(fault ?? endingOf(list) ?? "well")
      } else incoming.from(body)
    }
    const client = server.handsOver ? caller.get(jwt) : undefined
    const made = Effect.onExit(server.send(caller, request, client), (exit) =>
      Effect.sync(() => {
        if (Exit.isSuccess(exit)) answered(exit.value)
        else if (Cause.hasDies(exit.cause)) container.contain(Cause.squash(exit.cause))
        else incoming.conclude(failureOf(exit.cause))
      })
    )
    return Effect.map(Effect.forkDetach(Effect.exit(made), { startImmediately: true }), (sending) => {
      if (sending.pollUnsafe() === undefined) giveUp = () => sending.interruptUnsafe()
      return {
        send: (message) => outgoing.send(method.encode(message)),
        end: () => outgoing.finish(),
        receive: Effect.flatMap(incoming.receive, (bytes) => {
          if (bytes === undefined) return Exit.succeed(undefined)
          try {
            return Exit.succeed(method.decode(bytes))
          } catch {
            const fault = failed("INTERNAL", "a message cannot be read")
            incoming.conclude(fault)
            return Exit.fail(fault)
          }
        }),
        headers: () => headers,
        trailers: () => incoming.trailers ?? trailers,
        cancel: () => incoming.conclude(failed("CANCELLED", "the call was given up"))
      } satisfies GrpcStream<I, O>
    })
  })

const failureOf = (cause: Cause.Cause<StageError>): StageError => {
  const error = Cause.findErrorOption(cause)
  if (error._tag === "None") return failed("CANCELLED", "the call was given up")
  // That the time of this call is up says nothing of the time of whoever made it.
  return error.value === requestTimedOut ? failed("DEADLINE_EXCEEDED", "its time is up") : error.value
}
