/** A configuration that was replaced: the streams that are still on it, and the ports that the next one does not have. */
import { once } from "node:events"
import { createServer } from "node:net"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { defaultOverloadLimits } from "../../../layers/http/overload.ts"
import * as ConsoleLog from "../../../layers/log/console.ts"
import * as Prometheus from "../../../layers/metrics/prometheus.ts"
import { httpBackend, portOf } from "../../../test/http/edge.ts"
import { eventually, parseResponses, RawClient } from "../../../test/http/raw-client.ts"
import { never } from "../../pipeline/sampling.ts"
import { Metrics } from "../../services/metrics.ts"
import { standard } from "../configuration/distribution.ts"
import { defaultPortOptions, ports } from "../configuration/ports.ts"
import { makeSnapshot } from "../configuration/snapshot.ts"
import { startGateway } from "./gateway.ts"

const retirement = 600_000

const options = {
  distribution: standard,
  host: "127.0.0.1",
  ephemeral: true,
  clocks: { wall: () => 0, monotonic: () => 0 },
  random: Math.random,
  drain: { minimum: 0, deadline: 0 },
  env: { podName: null, namespace: null, gateway: null },
  sampler: never,
  spans: undefined,
  retirement,
  maxTotalBufferSize: 1_000_000,
  overload: defaultOverloadLimits
}

/** A gateway on a clock that stands still, before a backend that begins its answers and never ends them. */
const streaming = Effect.gen(function* () {
  const closed: Array<string> = []
  const backend = yield* httpBackend((request, response) => {
    response.write(`${request.headers["x-version"]} begins`)
    response.on("close", () => closed.push(String(request.headers["x-version"])))
  })
  const configuration = (version: string, port = 8080) => ({
    name: "config.yaml",
    text: `
gateways: { default: { port: ${port} } }
routes:
  - policies: { requestHeaderModifier: { set: { x-version: ${version} } } }
    backends: [{ host: "127.0.0.1:${portOf(backend.address())}" }]
`,
    env: {}
  })
  let now = 0
  const gateway = yield* startGateway(yield* makeSnapshot(standard, configuration("one"), Math.random), {
    ...options,
    clocks: { wall: () => 0, monotonic: () => now }
  })
  const metrics = yield* Metrics
  return {
    closed,
    gateway,
    reload: (version: string, port?: number) => gateway.reload(configuration(version, port)),
    pass: (milliseconds: number) => {
      now += milliseconds
    },
    outlived: async () => (await metrics.scrape()).text.match(/^headgate_requests_outlived_total (.*)$/m)?.[1],
    held: async () => (await metrics.scrape()).text.match(/^headgate_configurations_held (.*)$/m)?.[1],
    /** Asks for a stream, and waits until it has begun. */
    open: Effect.promise(() =>
      new RawClient(gateway.listeners()[0]!.port!)
        .send("GET / HTTP/1.1\r\nhost: a\r\n\r\n")
        .until(({ text }) => text.includes("begins"))
    )
  }
})

const withServices = (lines: Array<string>) => {
  const log = ConsoleLog.layer({
    filter: "info",
    format: "text",
    write: (line) => lines.push(line),
    now: () => 0
  })
  return Layer.fresh(Layer.provideMerge(ports(defaultPortOptions), Layer.merge(log, Prometheus.layer())))
}

describe("a configuration that was replaced", () => {
  it.live("is let go with its last stream", () =>
    Effect.gen(function* () {
      const { reload, open, held } = yield* streaming
      const first = yield* open
      assert.strictEqual(yield* Effect.promise(held), "1")
      yield* reload("two")
      assert.strictEqual(yield* Effect.promise(held), "2")
      first.socket.destroy()
      yield* Effect.eventually(Effect.filterOrFail(Effect.promise(held), (count) => count === "1")).pipe(
        Effect.timeout("5 seconds")
      )
    }).pipe(Effect.provide(withServices([])))
  )

  it.live("is let go when its time is up: its streams are cut, and no others", () => {
    const lines: Array<string> = []
    return Effect.gen(function* () {
      const { reload, open, held, pass, closed } = yield* streaming
      const [first, second] = [yield* open, yield* open]
      yield* reload("two")
      const third = yield* open
      pass(retirement - 1)
      yield* reload("three")
      const fourth = yield* open
      assert.strictEqual(yield* Effect.promise(held), "3")
      pass(1)
      for (const client of [first, second])
        yield* Effect.promise(() => client.until(({ ended, closed }) => ended || closed))
      yield* Effect.promise(() => eventually(() => closed.length === 2))
      assert.deepStrictEqual(closed, ["one", "one"])
      yield* Effect.eventually(Effect.filterOrFail(Effect.promise(held), (count) => count === "2")).pipe(
        Effect.timeout("5 seconds")
      )
      for (const client of [third, fourth]) assert.isFalse(client.ended || client.closed)
      for (const client of [first, second]) assert.deepStrictEqual(parseResponses(client.received), [])
      const cut = lines.filter((line) => line.includes('error="its configuration was replaced"'))
      assert.strictEqual(cut.length, 2)
      assert.isTrue(
        lines.some((line) => /requests that outlived their configuration were cut\s.*requests=2/.test(line))
      )
      for (const client of [first, second, third, fourth]) client.socket.destroy()
    }).pipe(Effect.provide(withServices(lines)))
  })

  it.live("leaves streams at a port that was given up the same time, whatever a shutdown would leave them", () =>
    Effect.gen(function* () {
      const { reload, open, pass, closed, outlived } = yield* streaming
      const stream = yield* open
      yield* reload("two", 8081)
      yield* reload("three", 8081)
      assert.isFalse(stream.ended || stream.closed)
      assert.deepStrictEqual(closed, [])
      pass(retirement)
      yield* Effect.promise(() => stream.until(({ ended, closed }) => ended || closed))
      yield* Effect.promise(() => eventually(() => closed.length === 1))
      assert.strictEqual(yield* Effect.promise(outlived), "1")
    }).pipe(Effect.provide(withServices([])))
  )

  it.live("leaves them no more than a shutdown does, once there is one", () =>
    Effect.gen(function* () {
      const { reload, open, gateway, closed } = yield* streaming
      const stream = yield* open
      yield* reload("two", 8081)
      yield* gateway.drain
      yield* Effect.promise(() => stream.until(({ ended, closed }) => ended || closed))
      yield* Effect.promise(() => eventually(() => closed.length === 1))
    }).pipe(Effect.provide(withServices([])))
  )

  it.live("gives up at once the ports that the next one does not have, however long a shutdown would keep them", () =>
    Effect.gen(function* () {
      const on = (port: number) => ({ name: "config.yaml", text: `gateways: { default: { port: ${port} } }`, env: {} })
      const one = on(8080)
      const gateway = yield* startGateway(yield* makeSnapshot(standard, one, Math.random), {
        ...options,
        drain: { minimum: 2_000, deadline: 2_000 }
      })
      const port = gateway.listeners()[0]!.port
      yield* gateway.reload(on(8081))
      const another = createServer()
      yield* Effect.promise(() => once(another.listen(port, "127.0.0.1"), "listening"))
      another.close()
    }).pipe(Effect.provide(withServices([])))
  )

  it.live("is still the one that the traces of its requests point into", () =>
    Effect.gen(function* () {
      const held: Array<() => void> = []
      const backend = yield* httpBackend((_, response) => {
        held.push(() => response.end("done"))
      })
      const text = `
gateways: { default: { port: 8080 } }
routes:
  - policies: { responseHeaderModifier: { set: { x-a: b } } }
    backends: [{ host: "127.0.0.1:${portOf(backend.address())}" }]
`
      const configuration = (text: string) => ({ name: "config.yaml", text, env: {} })
      const gateway = yield* startGateway(yield* makeSnapshot(standard, configuration(text), Math.random), options)
      const sources: Array<string> = []
      let over = false
      gateway.watchers.subscribe({
        emit: ({ message }) => {
          if (message.type === "policy") sources.push(message.source)
        },
        done: () => {
          over = true
        }
      })
      const client = new RawClient(gateway.listeners()[0]!.port!).send("GET / HTTP/1.1\r\nhost: a\r\n\r\n")
      yield* Effect.promise(() => eventually(() => held.length === 1))
      yield* gateway.reload(configuration(`# One line more.\n${text}`))
      held[0]!()
      yield* Effect.promise(() => eventually(() => over))
      assert.deepStrictEqual(sources, ["config.yaml:4:41 routes[0].policies.responseHeaderModifier"])
      client.socket.destroy()
    }).pipe(Effect.provide(withServices([])))
  )
})
