/** The edge and the engine's plain loop on a hand-built route without policies: what a request costs before any policy does. */
import { Effect, Exit } from "effect"
import { defaultLimits, listen } from "../layers/http/listener.ts"
import { Passage } from "../src/pipeline/passage.ts"
import type { Backend, Listener, Route, Selection } from "../src/pipeline/route.ts"
import { plainLoop } from "../src/pipeline/run.ts"
import { makeServe, noHooks } from "../src/pipeline/serve.ts"
import { Upstreams } from "../src/services/upstreams.ts"
import { upstreams } from "../test/http/edge.ts"

const [port, upstreamPort] = [Number(process.argv[2]), Number(process.argv[3])]

const monotonic = () => performance.now()

const program = Effect.gen(function* () {
  const { open } = yield* Upstreams
  const upstream = yield* open({ kind: "tcp", host: "127.0.0.1", port: upstreamPort, tls: false }, {})
  const backend: Backend = {
    name: "backend",
    type: "static",
    protocol: "http",
    target: `127.0.0.1:${upstreamPort}`,
    steps: [],
    backendResponse: [],
    response: [],
    effective: () => ({}),
    call: (x) =>
      upstream.send({
        method: x.request.method,
        pathAndQuery: x.request.pathAndQuery,
        authority: x.request.authority,
        headers: x.request.headers,
        body: x.requestBody,
        timeout: undefined,
        upgrade: x.upgrade,
        informer: x.informer
      })
  }
  const route: Route = {
    key: "route",
    name: "route",
    namespace: "default",
    rule: undefined,
    steps: [],
    response: [],
    effective: () => ({}),
    choose: () => backend
  }
  const selection: Selection = { route, prefix: "/", evaluated: () => [] }
  const listener: Listener = {
    key: "bench",
    name: "bench",
    bind: "bench",
    gateway: "default/default",
    steps: [],
    response: [],
    effective: () => ({}),
    select: () => selection
  }
  const serve = makeServe(plainLoop(monotonic), noHooks, monotonic, (defect) => console.error(defect))
  yield* listen({
    address: { _tag: "Tcp", host: "127.0.0.1", port },
    setting: "the first argument",
    handle: (exchange) => serve(new Passage(exchange), listener),
    clocks: { wall: Date.now, monotonic },
    limits: () => defaultLimits,
    defect: (cause) => console.error(cause),
    drain: { minimum: 0, deadline: 1000 }
  })
  return yield* Effect.never
})

const exit = await Effect.runPromiseExit(Effect.scoped(program).pipe(Effect.provide(upstreams())))
if (Exit.isFailure(exit)) console.error(exit.cause)
