/** Rules over connections in a running gateway: who is let in, and what is told of those who are not. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Stream } from "effect"
import { graphsOf } from "../src/main/configuration/offline.ts"
import { start } from "../src/main/library.ts"
import { traceProblems } from "../src/main/testing.ts"
import { type TraceEvent, watch } from "../src/main/trace.ts"
import { send } from "./client.ts"
import { eventually, RawClient } from "./http/raw-client.ts"
import { nowhere } from "./origin.ts"
import { startHeadgate } from "./program.ts"

const configuration = (rules: string, port = 8080) => `
frontendPolicies:
  networkAuthorization: { rules: [${rules}] }
gateways: { default: { port: ${port} } }
routes: [{ policies: { directResponse: { status: 200, body: hello } } }]
`
const ownOnly = `{ allow: 'source.address == "127.0.0.1"' }`
const request = "GET / HTTP/1.1\r\nhost: a\r\n\r\n"

/** What a client of this address is told; nothing when its connection is closed. */
const asked = (port: number, from: string) =>
  Effect.promise(async () => {
    const client = new RawClient(port, "127.0.0.1", from).send(request)
    await client.until(({ text, closed, ended }) => text.endsWith("hello") || closed || ended)
    client.socket.destroy()
    return client.text
  })

const opened = (rules: string) => start(configuration(rules), { ephemeral: true, host: "127.0.0.1" })

/** The events of the next trace. */
const traced = (admin: number) =>
  Effect.gen(function* () {
    const events: Array<TraceEvent> = []
    const stream = yield* Effect.orDie(watch(`127.0.0.1:${admin}`, {}))
    const fiber = yield* Effect.forkScoped(
      Effect.orDie(Stream.runForEach(stream, (event) => Effect.sync(() => events.push(event))))
    )
    return Effect.as(Effect.orDie(Effect.timeout(Fiber.join(fiber), "3 seconds")), events)
  })

const typesOf = (events: ReadonlyArray<TraceEvent>) => events.map(({ message }) => message.type)

describe("networkAuthorization", () => {
  it.live("closes connections without a byte, and serves the others", () =>
    Effect.gen(function* () {
      const gateway = yield* opened(ownOnly)
      const port = gateway.port(8080)!
      assert.match(yield* asked(port, "127.0.0.1"), /^HTTP\/1\.1 200/)
      assert.strictEqual(yield* asked(port, "127.0.0.2"), "")
    })
  )

  it.live("whose rules are replaced ends the connections that they would not let in, and no others", () =>
    Effect.gen(function* () {
      const gateway = yield* opened("{ deny: 'source.address == \"127.0.0.9\"' }")
      const port = gateway.port(8080)!
      const from = (address: string) =>
        Effect.promise(async () => {
          const client = new RawClient(port, "127.0.0.1", address).send(request)
          await client.responses(1)
          return client
        })
      const [banned, kept] = [yield* from("127.0.0.1"), yield* from("127.0.0.2")]
      yield* gateway.reload(configuration("{ deny: 'source.address == \"127.0.0.1\"' }"))
      yield* Effect.promise(() => banned.until(({ closed, ended }) => closed || ended))
      assert.strictEqual(yield* asked(port, "127.0.0.1"), "")
      kept.send(request)
      assert.lengthOf(yield* Effect.promise(() => kept.responses(2)), 2)
      yield* gateway.reload(configuration("{ deny: 'source.address == \"127.0.0.1\"' }").replace("hello", "hallo"))
      kept.send(request)
      assert.lengthOf(yield* Effect.promise(() => kept.responses(3)), 3)
      kept.socket.destroy()
    })
  )

  it.live("for one port hold there, and a reload of them asks the connections of that port alone", () =>
    Effect.gen(function* () {
      const ruled = (rules: string) => `
policies:
- name: { name: inner, namespace: default }
  target: { gateway: { gatewayName: default, gatewayNamespace: default, port: 8081 } }
  policy: { networkAuthorization: { rules: [${rules}] } }
gateways: { default: { port: 8080 }, inner: { port: 8081 } }
routes: [{ gateways: [default, inner], policies: { directResponse: { status: 200, body: hello } } }]
`
      const gateway = yield* start(ruled(ownOnly), { ephemeral: true, host: "127.0.0.1" })
      const [open, inner] = [gateway.port(8080)!, gateway.port(8081)!]
      assert.include(yield* asked(open, "127.0.0.2"), "hello")
      assert.strictEqual(yield* asked(inner, "127.0.0.2"), "")
      const clients = [open, inner].map((port) => new RawClient(port, "127.0.0.1", "127.0.0.1").send(request))
      for (const client of clients) yield* Effect.promise(() => client.until(({ text }) => text.endsWith("hello")))
      yield* gateway.reload(ruled(`{ allow: 'source.address == "127.0.0.2"' }`))
      yield* Effect.promise(() => clients[1]!.until(({ closed, ended }) => closed || ended))
      assert.strictEqual(yield* asked(inner, "127.0.0.1"), "")
      assert.include(yield* asked(inner, "127.0.0.2"), "hello")
      clients[0]!.send(request)
      yield* Effect.promise(() => clients[0]!.until(({ text }) => text.split("hello").length === 3))
      for (const { socket } of clients) socket.destroy()
    })
  )

  it.live("is told in the trace of a request, with its rules", () =>
    Effect.gen(function* () {
      const gateway = yield* opened(ownOnly)
      const whole = yield* traced(gateway.ports.admin!)
      assert.match(yield* asked(gateway.port(8080)!, "127.0.0.1"), /^HTTP\/1\.1 200/)
      const events = yield* whole
      assert.deepStrictEqual(traceProblems(events), [])
      const at = events.findIndex(({ message }) => message.type === "policySelection" && message.phase === "connection")
      assert.deepStrictEqual(typesOf(events.slice(at, at + 3)), ["policySelection", "authorizationResult", "policy"])
      const [selected, decided, ran] = events.slice(at).map(({ message }) => message)
      assert(selected?.type === "policySelection" && decided?.type === "authorizationResult" && ran?.type === "policy")
      assert.deepStrictEqual(selected.effectivePolicy["networkAuthorization"], {
        rules: [{ effect: "allow", expression: 'source.address == "127.0.0.1"' }]
      })
      assert.deepStrictEqual([decided.result, decided.rules[0]?.matched], ["allow", true])
      assert.deepInclude(ran, { kind: "networkAuthorization", phase: "connection", node: "networkAuthorization" })
      assert.match(ran.source, /frontendPolicies\.networkAuthorization$/)
    })
  )

  it.live("is told of a connection that was made before anybody watched", () =>
    Effect.gen(function* () {
      const gateway = yield* opened(ownOnly)
      const client = new RawClient(gateway.port(8080)!).send(request)
      yield* Effect.promise(() => client.responses(1))
      const whole = yield* traced(gateway.ports.admin!)
      client.send(request)
      const events = yield* whole
      assert.deepStrictEqual(traceProblems(events), [])
      assert.isTrue(events.some(({ message }) => message.type === "policy" && message.phase === "connection"))
      client.socket.destroy()
    })
  )

  it.live("that refuses is explained to who waits for the next request, unless that has to be a certain one", () =>
    Effect.gen(function* () {
      const gateway = yield* opened(ownOnly)
      const port = gateway.port(8080)!
      const whole = yield* traced(gateway.ports.admin!)
      assert.strictEqual(yield* asked(port, "127.0.0.2"), "")
      const events = yield* whole
      assert.deepStrictEqual(traceProblems(events), [])
      assert.deepStrictEqual(typesOf(events), ["policySelection", "authorizationResult", "policy", "requestFinished"])
      assert.deepInclude(events.at(-1)?.message, { status: null, error: "network authorization failed" })

      const certain = yield* Effect.orDie(
        watch(`127.0.0.1:${gateway.ports.admin}`, { expression: 'request.path == "/"' })
      )
      const seen: Array<TraceEvent> = []
      const fiber = yield* Effect.forkScoped(
        Effect.orDie(Stream.runForEach(certain, (event) => Effect.sync(() => seen.push(event))))
      )
      assert.strictEqual(yield* asked(port, "127.0.0.2"), "")
      assert.match(yield* asked(port, "127.0.0.1"), /^HTTP\/1\.1 200/)
      yield* Effect.orDie(Effect.timeout(Fiber.join(fiber), "3 seconds"))
      assert.strictEqual(seen[0]?.message.type, "requestStarted")
    })
  )

  it.live("counts what it refuses, and logs a line of it", () =>
    Effect.gen(function* () {
      const port = yield* nowhere
      const program = yield* Effect.acquireRelease(
        Effect.promise(() => startHeadgate(["-c", configuration(ownOnly, port)])),
        (program) => Effect.promise(() => program[Symbol.asyncDispose]())
      )
      for (const from of ["127.0.0.2", "127.0.0.3"]) assert.strictEqual(yield* asked(port, from), "")
      assert.match(yield* asked(port, "127.0.0.1"), /^HTTP\/1\.1 200/)
      const stats = Number(/established address=\S+:(\d+) component=stats/.exec(program.printed())![1])
      const { body } = yield* Effect.promise(() => send(stats, { path: "/metrics" }))
      assert.include(body, `headgate_connections_refused_total{bind="bind/${port}",reason="Authorization"} 2`)
      assert.match(
        body,
        /^headgate_stage_duration_seconds_count\{phase="connection",policy="networkAuthorization",node="networkAuthorization"\} 3$/m
      )
      yield* Effect.promise(() => eventually(() => program.printed().includes("127.0.0.3")))
      assert.match(
        program.printed(),
        new RegExp(
          `\\tconnection\\trefused bind=bind/${port} src\\.addr=127\\.0\\.0\\.2:\\d+ reason=Authorization error="network authorization failed"`
        )
      )
    })
  )

  it.effect("stands in the graph, in front of requests", () =>
    Effect.gen(function* () {
      const [graph] = yield* graphsOf({ name: "config.yaml", text: configuration(ownOnly), env: {} })
      const { nodes, edges } = graph!
      const node = nodes.find(({ policy }) => policy === "networkAuthorization")!
      assert.deepInclude(node, { phase: "connection", position: "config.yaml:3:25", failMode: "failClosed" })
      assert.deepStrictEqual(
        edges.filter(({ from }) => from === node.id).map(({ to, kind }) => `${kind} ${to}`),
        ["fail closed", "next request"].toSorted()
      )
    })
  )
})
