/** The port `HttpFetch` over connections like those of the data plane, and beside them. */
import { Effect, Layer, RcMap } from "effect"
import { addressOfUrl } from "../../spec/target.ts"
import { type Body, type BodyAborted, isSource, read } from "../../src/http/body.ts"
import { HeaderList } from "../../src/http/header-list.ts"
import { callTimes } from "../../src/pipeline/call-times.ts"
import { toldFetch } from "../../src/pipeline/told-fetch.ts"
import { type Fetched, FetchFailed, type FetchRequest, HttpFetch } from "../../src/services/http-fetch.ts"
import { Metrics } from "../../src/services/metrics.ts"
import { Monotonic } from "../../src/services/monotonic.ts"
import type { Names } from "../../src/services/names.ts"
import { type Upstream, type UpstreamError, Upstreams } from "../../src/services/upstreams.ts"
import * as UpstreamLayer from "../http/upstream.ts"

const defaultTimeout = 10_000
const defaultMaxBytes = 1024 * 1024
/** Milliseconds that a server is remembered after a call. */
const idleTimeout = 30_000

/** Finds the server of an origin. */
type ServerOf = RcMap.RcMap<string, Upstream>

const fetchThrough =
  (servers: ServerOf) =>
  ({
    method,
    url,
    headers = new HeaderList(),
    body,
    timeout = defaultTimeout,
    maxBytes = defaultMaxBytes
  }: FetchRequest): Effect.Effect<Fetched, FetchFailed> => {
    const failed = (detail: string) => Effect.fail(new FetchFailed({ url, detail }))
    const parsed = URL.parse(url)
    if (parsed === null || !/^https?:$/.test(parsed.protocol)) return failed("not an address of HTTP")
    const { origin, host, pathname, search } = parsed
    return RcMap.get(servers, origin).pipe(
      Effect.flatMap(({ send }) =>
        // Whatever ends the call between the head and the body ends the connection with it.
        Effect.uninterruptibleMask((restore) =>
          Effect.flatMap(
            restore(
              send({
                method,
                pathAndQuery: pathname + search,
                authority: host,
                headers,
                body,
                timeout: undefined,
                upgrade: undefined,
                informer: undefined
              })
            ),
            (answer) =>
              restore(read(answer.body, maxBytes)).pipe(
                Effect.map(({ bytes, complete }) => ({ ...answer, bytes, complete })),
                Effect.ensuring(Effect.sync(() => giveUp(answer.body)))
              )
          )
        )
      ),
      Effect.catch((error) => failed(detailOf(error))),
      Effect.flatMap(({ status, headers, bytes, complete }) =>
        complete
          ? Effect.succeed({ status, headers, body: bytes })
          : failed(`the answer has more than ${maxBytes} bytes`)
      ),
      Effect.timeoutOrElse({ duration: timeout, orElse: () => failed(`no whole answer within ${timeout} ms`) }),
      Effect.scoped
    )
  }

/** Harmless when all of it was read. */
const giveUp = (body: Body): void => {
  if (isSource(body)) body.cancel()
}

const detailOf = (error: UpstreamError | BodyAborted): string => {
  switch (error._tag) {
    case "UpstreamFailed":
      return `${error.kind}: ${error.detail}`
    case "UpstreamTimedOut":
      return `no connection within ${error.after} ms`
    default:
      return error.message
  }
}

/** Connections are kept between calls for as long as a server is remembered. */
export const layer: Layer.Layer<HttpFetch, never, Metrics | Names> = Layer.effect(
  HttpFetch,
  Effect.gen(function* () {
    const { open } = yield* Upstreams
    const servers = yield* RcMap.make({
      lookup: (origin: string) => open(addressOfUrl(new URL(origin)), { connectTimeout: defaultTimeout, idleTimeout }),
      idleTimeToLive: idleTimeout
    })
    return { fetch: toldFetch(fetchThrough(servers), callTimes(yield* Metrics), yield* Monotonic) }
  })
).pipe(Layer.provide(UpstreamLayer.layer))
