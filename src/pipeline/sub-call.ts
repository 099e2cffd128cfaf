/**
 * A call that the proxy makes beside that of the backend: a request of its own, with the policies of the backend that it asks. It
 * takes over nothing of the request that it is made for.
 */
import { Effect, Exit } from "effect"
import { type Address, formatAddress } from "../../spec/target.ts"
import { canonicalAuthority } from "../http/authority.ts"
import { type BodyObserver, isSource, observe, PassingBody } from "../http/body.ts"
import type { HeaderList } from "../http/header-list.ts"
import { type Answer, RequestHead, type Scheme } from "../http/message.ts"
import { formatTraceparent, type TraceContext } from "../http/trace-context.ts"
import { Defects } from "../services/defects.ts"
import { Monotonic } from "../services/monotonic.ts"
import { type UpstreamOptions, Upstreams, UpstreamTimedOut, withDefaults } from "../services/upstreams.ts"
import { CallTimes, type Purpose, timeOf } from "./call-times.ts"
import { requestTimedOut, within } from "./deadline.ts"
import { Defect, FilterFailed } from "./errors.ts"
import { defaultBodyLimit, Exchange } from "./exchange.ts"
import { toldCall } from "./outbound.ts"
import { Passage } from "./passage.ts"
import type { Backend } from "./route.ts"
import { plainLoop, type Step } from "./run.ts"
import { makeReach, noHooks, type Reach } from "./serve.ts"
import { authorityRewritten, jwt, shownCredentials, timeouts } from "./slots.ts"
import type { StageError } from "./stage.ts"
import type { Asking, Caller, Reply, SubRequest } from "./sub-calls.ts"
import type { Peer, Reading } from "./view.ts"

/** The client of a sub-call is the proxy, which is at no address that a rule could mean. */
const proxyItself: Peer = { address: "0.0.0.0", port: 0, rawAddress: "0.0.0.0", rawPort: 0 }

/** How requests get to backends. */
export interface Ways {
  readonly reach: Reach
  readonly clock: () => number
  readonly times: CallTimes
  /** Told what is thrown when a call is over. */
  readonly tell: (cause: unknown) => void
}

export const makeWays: Effect.Effect<Ways> = Effect.gen(function* () {
  const clock = yield* Monotonic
  const tell = yield* Defects
  // A defect goes on to whoever made the call, and is told there.
  const reach = makeReach(plainLoop(clock), noHooks, clock, () => {})
  return { reach, clock, times: yield* CallTimes, tell: (cause: unknown) => tell("engine", cause) }
})

/** Compiles what opens connections, which are opened so where nothing else is said. */
export const compileConnected = <A, E, R>(
  connections: UpstreamOptions,
  compiling: Effect.Effect<A, E, R>
): Effect.Effect<A, E, R | Upstreams> =>
  Effect.flatMap(Upstreams, (upstreams) =>
    Effect.provideService(compiling, Upstreams, withDefaults(upstreams, connections))
  )

/** What a backend is asked under where nobody says otherwise. */
const originOf = (address: Address | undefined): { readonly scheme: Scheme; readonly authority: string } => {
  if (address?.kind !== "tcp") return { scheme: "http", authority: "localhost" }
  const scheme = address.tls ? "https" : "http"
  const authority = formatAddress({ ...address, tls: false })
  return { scheme, authority: canonicalAuthority(authority, scheme) ?? authority }
}

/**
 * @param address that of the backend, if it is known by one.
 * @param purpose what replies are told and timed as, if they are.
 */
export const callerOf = (
  ways: Ways,
  backend: Backend,
  address: Address | undefined,
  purpose: Purpose | undefined
): Caller => {
  const { clock, tell, times } = ways
  const { scheme, authority } = originOf(address)
  const { target } = backend
  const telling = purpose && { purpose, clock, time: timeOf(times, purpose), why: ({ message }: StageError) => message }
  const handsOver = backend.steps.some(isHandingOver)
  const asking = (
    caller: Asking & Reading<typeof jwt>,
    asked: SubRequest,
    head: RequestHead,
    timeout: number
  ): Effect.Effect<Reply, StageError> =>
    Effect.suspend(() => {
      const most = backend.requestTimeout ?? timeout
      const x = begun(caller, asked, head, clock())
      const bearer = handsOver ? caller.get(jwt) : undefined
      if (bearer !== undefined) x.set(jwt, bearer)
      x.set(timeouts, { request: most, backend: undefined })
      const replied = Effect.flatMap(answered(ways, x, backend), (answer) => {
        const { status, headers } = answer
        const noting = isSource(answer.body) ? new NotingTrailers(answer.body) : undefined
        if (noting !== undefined) answer.body = noting
        return Effect.map(x.readResponseBody(asked.maxBytes ?? defaultBodyLimit), (body) => ({
          status,
          headers,
          body,
          trailers: noting?.trailers
        }))
      })
      // That the time of this call is up says nothing of the time of whoever made it.
      const inTime = Effect.mapError(within(x, clock, replied), (error) =>
        error === requestTimedOut ? new UpstreamTimedOut({ after: most, reached: "sent" }) : error
      )
      return Effect.onExit(inTime, (exit) =>
        Effect.sync(() => over(x, Exit.isSuccess(exit) ? exit.value.body.length : undefined, tell))
      )
    })
  return {
    target,
    origin: `${scheme}://${authority}`,
    showsCredential: backend.steps.some(({ writes }) => writes.includes(shownCredentials)),
    handsOver,
    credentials: backend.credentials,
    ask: (caller, asked, timeout) =>
      Effect.suspend((): Effect.Effect<Reply, StageError> => {
        const head = headOf(asked, authority)
        if (head instanceof FilterFailed) return Exit.fail(head)
        if (telling === undefined) return asking(caller, asked, head, timeout)
        const told = { target, method: head.method, authority: head.authority, path: head.path }
        return toldCall(telling, told, (trace) => {
          // A request of the proxy belongs to the trace of the one that it is made for.
          if (trace !== undefined && !head.headers.has("traceparent"))
            head.headers.set("traceparent", formatTraceparent(trace))
          return asking(caller, asked, head, timeout)
        })
      }),
    send: (caller, asked, client) => {
      const head = headOf(asked, authority)
      if (head instanceof FilterFailed) return Exit.fail(head)
      const x = begun(caller, asked, head, clock())
      if (handsOver && client !== undefined) x.set(jwt, client)
      const sent = (trace?: TraceContext) => {
        if (trace !== undefined && !head.headers.has("traceparent"))
          head.headers.set("traceparent", formatTraceparent(trace))
        return answered(ways, x, backend)
      }
      const told =
        telling === undefined
          ? sent()
          : toldCall(telling, { target, method: head.method, authority: head.authority, path: head.path }, sent)
      return Effect.onExit(told, (exit) => {
        if (Exit.isFailure(exit)) over(x, undefined, tell)
        else {
          const { body } = exit.value
          if (isSource(body)) exit.value.body = observe(body, end(x, tell))
          else over(x, body === undefined ? 0 : Buffer.byteLength(body), tell)
        }
        return Effect.void
      })
    }
  }
}

/** A body that remembers what came behind it. */
class NotingTrailers extends PassingBody {
  trailers: HeaderList | undefined = undefined

  data(chunk: Uint8Array): boolean {
    return this.sink!.data(chunk)
  }
  override end(trailers?: HeaderList): void {
    this.trailers = trailers
    super.end(trailers)
  }
}

/** Whether a step shows the backend a credential of the client: the one thing of who asks that may be handed over. */
const isHandingOver = ({ reads, writes }: Step): boolean => writes.includes(shownCredentials) && reads.includes(jwt)

const headOf = (asked: SubRequest, authority: string): RequestHead | FilterFailed => {
  const head = new RequestHead(asked.method, "http", asked.authority ?? authority, "/", asked.headers)
  const fault = head.moveTo(asked.pathAndQuery)
  return fault === undefined ? head : new FilterFailed({ detail: fault.fault })
}

/** The exchange of a call, which has nothing of the one that it is made for but its configuration and the time. */
const begun = (
  caller: Asking,
  { body, repeatable, aside }: SubRequest,
  head: RequestHead,
  arrived: number
): Exchange => {
  const x = new Exchange(head, body, proxyItself, caller.now + arrived - caller.arrived, arrived)
  x.settings = caller.settings
  x.repeatable = repeatable === true
  x.aside = aside === true
  // The name of the backend need not replace that of a client.
  x.set(authorityRewritten, true)
  return x
}

/** What comes of it: what the engine would tell a client of a failure, whoever asked is told as it is. */
const answered = ({ reach }: Ways, x: Exchange, backend: Backend): Effect.Effect<Answer, StageError> =>
  Effect.flatMap(reach(new Passage(x), backend), (answer): Effect.Effect<Answer, StageError> => {
    const { error } = x
    if (error instanceof Defect) return Exit.die(error.cause)
    return error === undefined ? Exit.succeed(answer) : Exit.fail(error)
  })

/** Lets go of everything that was held for a call once its body is over. */
const end = (x: Exchange, tell: (cause: unknown) => void): BodyObserver => {
  let bytes = 0
  return {
    data: (chunk) => {
      bytes += chunk.length
    },
    end: (failure) =>
      x.finish(
        {
          status: x.response?.status,
          failure: failure === undefined || failure === "cancelled" ? failure : failure.message,
          bytes
        },
        tell
      )
  }
}

/**
 * Lets go of everything that was held for a call.
 * @param bytes those of its answer, if there is a whole one.
 */
const over = (x: Exchange, bytes: number | undefined, tell: (cause: unknown) => void): void => {
  const { response } = x
  if (response !== undefined && isSource(response.body)) response.body.cancel()
  const failure = bytes === undefined ? (x.error?.message ?? "the call was given up") : undefined
  x.finish({ status: response?.status, failure, bytes: bytes ?? 0 }, tell)
}
